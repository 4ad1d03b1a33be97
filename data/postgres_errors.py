"""What PostgreSQL says, as errors of the store: by SQLSTATE where a server answered, by its words where it did not.

A refused connection carries no SQLSTATE, only a sentence in the server's language; English and German are known,
any other is quoted as it is. No message holds a password: none of libpq's does.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError, StatementError, TimeoutError

from data.errors import ConstraintViolated, DatabaseDamaged, StoreError, StoreUnavailable

__all__ = ["explain_connection", "translate"]

_STATES: Final[dict[str, tuple[str, str]]] = {
    "25006": ("read_only", "cannot write to {where}: the server is read-only; name the primary in BRAIN_DATABASE_URL"),
    "42501": ("read_only", "the role may not do that in {where} ({detail}); grant it its own database"),
    "53100": ("disk_full", "cannot write to {where}: the server's disk is full; free some space, then try again"),
    "53200": ("io_error", "{where} is out of memory; try again, or give the server more"),
    "53300": ("cannot_open", "{where} takes no more connections; raise max_connections or stop other clients"),
    "55P03": ("locked", "{where} is locked by another process for too long; let it finish, then try again"),
    "40001": ("locked", "{where} was written by others at the same time; try again"),
    "40P01": ("locked", "{where} was written by others at the same time; try again"),
    "25P03": ("locked", "{where} ended a write that stood still for too long; try again"),
    "58030": ("io_error", "the server of {where} cannot read or write its files ({detail}); check its disk"),
}
_CLASSES: Final[dict[str, tuple[str, str]]] = {
    "08": ("cannot_open", "the connection to {where} was lost; see that the server runs, then try again"),
    "57": ("cannot_open", "the server of {where} stopped or ended the connection; see that it runs, then try again"),
}
_ROLE: Final = re.compile(r"role .* does not exist|Rolle .* existiert nicht")
_PASSWORD: Final = re.compile(r"password authentication failed|no password supplied|Passwort-Authentifizierung")
_DATABASE: Final = re.compile(r"database .* does not exist|Datenbank .* existiert nicht")
_NOT_ALLOWED: Final = re.compile(r"no pg_hba\.conf entry|kein pg_hba\.conf-Eintrag|Peer authentication|Peer-Auth")
_NO_HOST: Final = re.compile(r"could not translate host name|failed to resolve host|Name or service not known")
_UNREACHABLE: Final = re.compile(r"refused|timeout|timed out|No such file|unreachable|No route|Verbindungsaufbau")


def translate(error: Exception, where: str) -> StoreError | ValueError:
    """Return the StoreError for what the driver raised about `where`; a ValueError for what no column can hold."""
    original = error.orig if isinstance(error, StatementError) and error.orig is not None else error
    if isinstance(original, ValueError | TypeError):
        return ValueError(f"a value cannot be stored: {original}")
    if isinstance(error, TimeoutError):  # the pool's: every connection is in use
        return StoreUnavailable(f"too many reads of {where} at once; try again", reason="locked")
    state = getattr(original, "sqlstate", None)
    detail = _first_line(original)
    known = _STATES.get(state or "") or _CLASSES.get((state or "")[:2])
    if known is not None:
        return StoreUnavailable(known[1].format(where=where, detail=detail), reason=known[0])
    if state in {"XX001", "XX002"}:
        return DatabaseDamaged(f"{where} is damaged ({detail}); restore a backup")
    if isinstance(original, psycopg.IntegrityError):
        return ConstraintViolated(f"the write breaks a rule of the store and was not kept: {detail}")
    if isinstance(original, psycopg.DataError):
        return ValueError(f"a value cannot be stored: {detail}")
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or (state is None and isinstance(original, psycopg.OperationalError)):
        return StoreUnavailable(f"{where} cannot be reached ({detail}); see that it runs", reason="cannot_open")
    return StoreError(f"the store {where} refused a statement: {detail}")


def explain_connection(error: psycopg.Error, *, where: str, place: str, user: str, database: str) -> StoreUnavailable:
    """Return why no connection came about, and what to do."""
    said = " ".join(str(error).split())
    check = "check BRAIN_DATABASE_URL"
    if _PASSWORD.search(said):
        sentence = f"the PostgreSQL at {place} refuses the password of role {user!r}; {check}"
    elif _ROLE.search(said):
        sentence = f"the PostgreSQL at {place} knows no role {user!r}; create it with: createuser --pwprompt {user}"
    elif _DATABASE.search(said):
        sentence = (
            f"the PostgreSQL at {place} has no database {database!r}; create it with: "
            f"createdb --owner={user} --template=template0 --encoding=UTF8 {database}"
        )
    elif _NOT_ALLOWED.search(said):
        sentence = f"the PostgreSQL at {place} does not let role {user!r} in this way ({said}); see its pg_hba.conf"
    elif _NO_HOST.search(said):
        sentence = f"the host of {where} is not known ({said}); {check}"
    elif _UNREACHABLE.search(said):
        sentence = f"no PostgreSQL answers at {place} ({said}); start it, or {check}"
    else:
        sentence = f"cannot connect to {where} ({said}); {check}"
    return StoreUnavailable(sentence, reason="cannot_open")


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]
