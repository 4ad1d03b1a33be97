"""Expressions that SQLite and PostgreSQL spell differently, for queries that are one function on both."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, Text, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

__all__ = ["json_number", "json_text", "unindexed"]


class _JsonNumber(FunctionElement[float]):
    """The number under a name in JSON that is stored as text; NULL where there is none."""

    inherit_cache = True
    type = Float()
    name = "json_number"


class _JsonText(FunctionElement[str]):
    """The string under a name in JSON that is stored as text; NULL where there is none."""

    inherit_cache = True
    type = Text()
    name = "json_text"


@compiles(_JsonText)  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
@compiles(_JsonNumber)  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
def _in_sqlite(element: _JsonNumber | _JsonText, compiler: SQLCompiler, **options: Any) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_extract({column}, '$.' || {name})"


@compiles(_JsonNumber, "postgresql")  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
def _in_postgresql(element: _JsonNumber, compiler: SQLCompiler, **options: Any) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(CAST({column} AS json) ->> {name})::double precision"


@compiles(_JsonText, "postgresql")  # type: ignore[no-untyped-call, untyped-decorator, unused-ignore]
def _text_in_postgresql(element: _JsonText, compiler: SQLCompiler, **options: Any) -> str:
    column, name = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(CAST({column} AS json) ->> {name})"


def json_number(column: ColumnElement[Any], name: str) -> ColumnElement[float]:
    """Return the expression of the number under `name`, an identifier of our own, in the JSON text of `column`."""
    return _JsonNumber(column, _quoted(name))


def json_text(column: ColumnElement[Any], name: str) -> ColumnElement[str]:
    """Return the expression of the string under `name`, an identifier of our own, in the JSON text of `column`."""
    return _JsonText(column, _quoted(name))


def _quoted(name: str) -> ColumnElement[str]:
    if not name.isidentifier():
        raise ValueError(f"{name!r} is no plain name")
    return literal_column(f"'{name}'")


def unindexed(conn: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return `column` so that SQLite uses no index for it; PostgreSQL's planner decides by its statistics."""
    if conn.dialect.name == "postgresql":
        return column
    return literal_column(f"+{column}")
