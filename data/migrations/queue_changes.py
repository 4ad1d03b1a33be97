"""The triggers that number every change of a task, an article and a task's evidence; part of revision 0002.

Each row of `queue_change` names one thing and the number of its last change; numbers only grow. Write transactions
follow one another on both databases, so whoever has seen a number has seen all below it. What a lease alone changes
(its end, the phase, the counts) is no change here.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

__all__ = ["create_triggers"]

_TASK: Final = "topic, seeds, questions, state, version"
_ARTICLE: Final = "topic, state, task_id, version"
_EVIDENCE: Final = "accepted, fetched_at, owner"

_WATCHED: Final = (
    ("research_task", _TASK, "'research_task:' || {row}.id", ""),
    ("article", _ARTICLE, "'article:' || {row}.id", ""),
    # `task:ID`, as the evidence names its owner: articles out of that task have grown older or younger
    ("evidence", _EVIDENCE, "{row}.owner", "{row}.owner LIKE 'task:%'"),
)
_NOTE: Final = (
    "INSERT INTO queue_change (ref, number) "
    "VALUES ({ref}, (SELECT coalesce(max(number), 0) + 1 FROM queue_change)) "
    "ON CONFLICT (ref) DO UPDATE SET number = excluded.number"
)


def create_triggers(connection: Connection) -> None:
    """Create them on the database that `connection` speaks to."""
    server = connection.dialect.name == "postgresql"
    for table, columns, ref, condition in _WATCHED:
        for moment, row in (("INSERT", "NEW"), (f"UPDATE OF {columns}", "NEW"), ("DELETE", "OLD")):
            name = f"queue_change_{table}_{moment.partition(' ')[0].lower()}"
            note = _NOTE.format(ref=ref.format(row=row))
            when = f"WHEN ({condition.format(row=row)})" if condition else ""
            head = f"CREATE TRIGGER {name} AFTER {moment} ON {table}"
            if server:
                body = f"BEGIN {note}; RETURN NULL; END"
                function = f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
                statements = [function, f"{head} FOR EACH ROW {when} EXECUTE FUNCTION {name}()"]
            else:
                statements = [f"{head} {when} BEGIN {note}; END"]
            for statement in statements:
                connection.exec_driver_sql(statement.replace("%", "%%") if server else statement)
