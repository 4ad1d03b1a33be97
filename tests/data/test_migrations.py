"""Migrations build exactly the schema, once, also when started twice at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from data import sqlite
from data.errors import DatabaseDamaged
from data.migrations.names import FULL_TEXT_TABLES, HEAD, REVISIONS, is_ours
from data.migrations.prepare import prepare_database
from data.migrations.upgrade import configuration, upgrade
from data.schema import metadata
from tests.postgres import Cluster


def differences(path: Path) -> list[object]:
    engine = sqlite.migrator(path)
    try:
        with engine.connect() as connection:
            options = {
                "compare_type": True,
                "compare_server_default": True,
                "include_name": lambda name, kind, _parents: kind != "table" or is_ours(name),
            }
            return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))
    finally:
        engine.dispose()


def test_migrations_build_exactly_the_schema(tmp_path: Path) -> None:
    prepare_database(tmp_path / "brain.db")
    assert differences(tmp_path / "brain.db") == []


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE node ADD COLUMN stray TEXT",
        "DROP INDEX ix_node_content_hash",
        "CREATE TABLE stray (id TEXT)",
        "ALTER TABLE scan DROP COLUMN merged",
    ],
)
def test_the_comparison_can_fail(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "brain.db"
    prepare_database(path)
    with closing(sqlite.raw_connection(path)) as connection:
        connection.execute(statement)
    assert differences(path) != []


def test_ddl_of_columns_and_constraints_is_that_of_the_schema(tmp_path: Path) -> None:
    # compare_metadata does not look at primary keys, foreign key actions or partial index conditions: DDL does.
    prepare_database(tmp_path / "migrated.db")
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'created.db'}", poolclass=sa.NullPool)
    metadata.create_all(engine)
    statement = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"

    def ddl(path: Path) -> dict[str, list[str]]:
        with closing(sqlite.raw_connection(path)) as connection:
            rows = [row for row in connection.execute(statement) if is_ours(row[0])]
        wanted = {table.name for table in metadata.sorted_tables}
        wanted |= {str(index.name) for table in metadata.sorted_tables for index in table.indexes}
        return {name: sorted(part.strip(" ,\t") for part in sql.splitlines()) for name, sql in rows if name in wanted}

    assert ddl(tmp_path / "migrated.db") == ddl(tmp_path / "created.db")


def test_the_named_revisions_are_the_scripts() -> None:
    scripts = ScriptDirectory.from_config(configuration())
    assert scripts.get_heads() == [HEAD]
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS


def test_full_text_tables_are_there_and_ranked(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    prepare_database(path)
    with closing(sqlite.raw_connection(path)) as connection:
        for table in FULL_TEXT_TABLES:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        connection.execute(
            "INSERT INTO library_fts (rowid, title, body) VALUES (7, 'Drucker', 'Prüfen Sie den Spooler')"
        )
        found = connection.execute("SELECT rowid FROM library_fts WHERE library_fts MATCH 'prufen'").fetchall()
    assert found == [(7,)]


def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    prepare_database(path)
    before = path.read_bytes()
    prepare_database(path)
    assert path.read_bytes() == before


def test_an_interrupted_migration_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "brain.db"
    real = sqlite.raw_connection

    def breaking(path: Path, **options: float) -> sqlite3.Connection:
        connection = real(path, **options)
        connection.set_authorizer(
            lambda action, name, *_: (
                sqlite3.SQLITE_DENY
                if action == sqlite3.SQLITE_CREATE_TABLE and name == "scan_decision"
                else sqlite3.SQLITE_OK
            )
        )
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(sqlite, "raw_connection", breaking)
        with pytest.raises(Exception, match="not authorized"):
            prepare_database(path)
    with closing(real(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    prepare_database(path)
    assert differences(path) == []


def test_a_foreign_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    with closing(sqlite.raw_connection(path)) as connection:
        connection.execute("CREATE TABLE node (id TEXT)")
    with pytest.raises(DatabaseDamaged, match="another program"):
        prepare_database(path)
    with closing(sqlite.raw_connection(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("node",)]


CHANGE = "UPDATE research_task SET version = version + 1"
TASK = (
    "INSERT INTO research_task (id, topic, seeds, questions, priority, state, origins, kind, dedupe_key, language, "
    "attempts, phase, progress, evidence_count, created_at, updated_at, version) VALUES "
    "('t_1', 'x', '[]', '[]', 1, 'queued', '[]', 'asked', 'k', 'en', 0, '', '{}', 0, 'a', 'a', 1)"
)
SEEN = "SELECT ref, number FROM queue_change"


def test_a_database_of_the_first_revision_is_brought_up_and_follows_changes(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    with closing(sqlite.raw_connection(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    engine = sqlite.migrator(path)
    upgrade(engine, "0001")
    engine.dispose()
    with closing(sqlite.raw_connection(path)) as connection:
        connection.execute(TASK)
    prepare_database(path)
    assert differences(path) == []
    with closing(sqlite.raw_connection(path)) as connection:
        assert connection.execute(SEEN).fetchall() == []
        connection.execute(CHANGE)
        connection.execute(CHANGE)
        connection.execute("UPDATE research_task SET phase = 'gathering'")
        assert connection.execute(SEEN).fetchall() == [("research_task:t_1", 2)]


@pytest.mark.slow
def test_a_server_of_the_first_revision_is_brought_up_and_follows_changes(cluster: Cluster) -> None:
    from data.migrations.prepare_postgres import prepare_server
    from data.postgres import PostgresBackend, parse_address

    database = cluster.create()
    server = parse_address(cluster.url(database))
    engine = PostgresBackend(server).migrator()
    upgrade(engine, "0001")
    engine.dispose()
    cluster.run(TASK, database)
    prepare_server(server)
    assert cluster.run(SEEN, database) == []
    cluster.run(CHANGE, database)
    cluster.run(CHANGE, database)
    cluster.run("UPDATE research_task SET phase = 'gathering'", database)
    assert cluster.run(SEEN, database) == [("research_task:t_1", 2)]
    cluster.drop(database)
