"""Only data/crud writes domain rows; everybody else's writes are named here, module by module and table by table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from data import schema

ROOT = Path(__file__).parents[2]
PACKAGES = ("data", "vector", "research", "articles", "brain")
TABLES = frozenset(schema.metadata.tables) | {"node_fts", "library_fts"}

# Domain rows are verified and journaled one by one, derived rows as batches; both are data/crud's alone.
DOMAIN = frozenset({"node", "node_text", "node_fts", "edge", "evidence", "research_task"}) | {
    "article",
    "article_revision",
    "article_review",
}
BY_TRIGGERS = frozenset({"queue_change"})
"""What no module writes, only the database itself."""
DERIVED = frozenset({"embedding", "neighbour", "node_reading", "position"})
# Technical rows: plain writes, each table by the module that looks after it (spec 02, "Verified writes").
TECHNICAL = {
    "data/events.py": {"event"},
    "data/state.py": {"state"},
    "data/locks.py": {"lock"},
    "data/pairs.py": {"pair_decision"},
    "data/scans.py": {"scan", "scan_decision"},
    "data/library.py": {"library_document", "library_fts"},
    "data/library_index.py": {"library_document", "library_fts"},
    "data/fulltext_postgres.py": {"library_fts"},
    "data/inbox.py": {"inbox_file"},
    "data/attempts.py": {"article_attempt"},
}
EVERYTHING = ("data/crud/", "data/migrations/")

SQL = re.compile(
    r"\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|REPLACE\s+INTO|DELETE\s+FROM|UPDATE)\s+[\"'`\[]?(\w+|\{\})", re.IGNORECASE
)
CONCERNED = re.compile(rf"sqlalchemy|schema|exec|{SQL.pattern}")
"""A module without any of these builds no statement and runs none: it need not be parsed."""
VERBS = frozenset({"insert", "update", "delete"})


@dataclass(frozen=True)
class Statement:
    """A writing statement: its line, and the table it names (`?` where the source does not say)."""

    line: int
    table: str


@cache
def writes(source: str) -> tuple[Statement, ...]:
    """Return every writing SQL statement of a module, in Core or as text."""
    return tuple(statements(ast.parse(source))) if CONCERNED.search(source) else ()


def statements(tree: ast.AST) -> Iterator[Statement]:
    verbs, modules = imported(tree)
    for item in ast.walk(tree):
        if isinstance(item, ast.Call):
            yield from core_call(item, verbs, modules)
        elif isinstance(item, ast.Constant | ast.JoinedStr):
            for table in SQL.findall(as_text(item)):
                if table in TABLES or table == "{}":
                    yield Statement(item.lineno, table if table in TABLES else "?")


def imported(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that are SQLAlchemy's insert, update or delete, and those of SQLAlchemy modules."""
    verbs: set[str] = set()
    modules: set[str] = set()
    for item in ast.walk(tree):
        if isinstance(item, ast.ImportFrom) and (item.module or "").startswith("sqlalchemy"):
            verbs |= {alias.asname or alias.name for alias in item.names if alias.name in VERBS}
            modules |= {alias.asname or alias.name for alias in item.names if alias.name not in VERBS}
        elif isinstance(item, ast.Import):
            names = [alias for alias in item.names if alias.name.startswith("sqlalchemy")]
            modules |= {alias.asname or alias.name.partition(".")[0] for alias in names}
    return verbs, modules


def core_call(call: ast.Call, verbs: set[str], modules: set[str]) -> Iterator[Statement]:
    function = call.func
    if isinstance(function, ast.Name) and function.id in verbs:
        yield Statement(call.lineno, table_of(call.args[0]) if call.args else "?")
    elif isinstance(function, ast.Attribute) and function.attr in VERBS:
        base = function.value
        if isinstance(base, ast.Name) and base.id in modules:
            yield Statement(call.lineno, table_of(call.args[0]) if call.args else "?")
        elif (table := table_of(base)) != "?":
            yield Statement(call.lineno, table)


def table_of(expression: ast.expr) -> str:
    """Return the table an expression names, `?` where it names none."""
    if isinstance(expression, ast.Attribute):
        name = expression.attr
    elif isinstance(expression, ast.Name):
        name = expression.id
    else:
        return "?"
    name = name.removesuffix("_table")
    return name if name in TABLES else "?"


def as_text(item: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(item, ast.Constant):
        return item.value if isinstance(item.value, str) else ""
    return "".join(as_text(part) if isinstance(part, ast.Constant) else "{}" for part in item.values)


def forbidden(path: str, source: str) -> list[str]:
    """Return what `path` writes and may not, as `path:line table`."""
    if path.startswith(EVERYTHING):
        return []
    allowed = TECHNICAL.get(path, set())
    return [f"{path}:{found.line} {found.table}" for found in writes(source) if found.table not in allowed]


@cache
def sources() -> tuple[tuple[str, str], ...]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return tuple((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def test_only_crud_writes_domain_rows() -> None:
    assert [fault for path, source in sources() for fault in forbidden(path, source)] == []


def test_no_technical_writer_touches_domain_or_derived_rows() -> None:
    named = {table for tables in TECHNICAL.values() for table in tables}
    assert named.isdisjoint(DOMAIN | DERIVED)
    assert named | DOMAIN | DERIVED | BY_TRIGGERS | {"journal"} == TABLES, "every table has its writer"


def test_the_scan_sees_the_writers_there_are() -> None:
    seen = {path for path, source in sources() if writes(source)}
    assert {"data/events.py", "data/state.py", "data/locks.py", "data/crud/rows.py"} <= seen


@pytest.mark.parametrize(
    ("source", "table"),
    [
        ("from sqlalchemy import insert\nfrom data.schema import node\ninsert(node)", "node"),
        ("from sqlalchemy import update as change\nfrom data.schema import edge\nchange(edge)", "edge"),
        ("from sqlalchemy.dialects.sqlite import insert\nfrom data import schema\ninsert(schema.article)", "article"),
        ("import sqlalchemy as sa\nfrom data import schema\nsa.delete(schema.evidence)", "evidence"),
        ("from data.schema import node\nnode.delete().where(node.c.id == 1)", "node"),
        ("from data import schema\nschema.edge.insert()", "edge"),
        ("from sqlalchemy import insert\ninsert(pick())", "?"),
        ("connection.executescript('BEGIN; UPDATE journal SET status = 1; COMMIT')", "journal"),
        ("conn.exec_driver_sql('INSERT INTO node VALUES (1)')", "node"),
        ("conn.execute('''insert or replace into \"article\" values (1)''')", "article"),
        ("conn.execute('DELETE  FROM evidence')", "evidence"),
        ("conn.execute(f'UPDATE {table} SET x = 1')", "?"),
        ("conn.execute('REPLACE INTO node_fts VALUES (1)')", "node_fts"),
    ],
)
def test_the_scan_finds_each_way_of_writing(source: str, table: str) -> None:
    assert [found.table for found in writes(source)] == [table]
    assert forbidden("research/planted.py", source)
    assert forbidden("data/events.py", source), "a technical writer may write its own table only"
    assert not forbidden("data/crud/planted.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "seen = {}\nseen.update(x=1)",
        "conn.execute(select)\ndigest.update(b'UPDATE node')",
        "insert(values, ids)",
        "hint = 'update your node and delete from memory'",
        "from sqlalchemy import select\nfrom data.schema import node\nselect(node)",
    ],
)
def test_the_scan_takes_nothing_else_for_a_write(source: str) -> None:
    assert writes(source) == ()


def test_sqlalchemy_stays_in_data() -> None:
    stray = re.compile(r"^\s*(?:import|from)\s+(?:sqlalchemy|aiosqlite|alembic)\b", re.MULTILINE)
    assert [path for path, source in sources() if stray.search(source) and not path.startswith("data/")] == []
    assert stray.search("    from sqlalchemy import select")
