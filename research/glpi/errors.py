"""What can go wrong with GLPI, in words a person can act on.

GlpiError
├── GlpiUnreachable   no answer, a server's error, or something that is no answer of this API; later may be better
│   └── GlpiTooLong   an answer longer than is read
├── GlpiDenied        a token, an address or a right is missing; somebody must change a setting
├── GlpiNotFound      the item is not there
├── GlpiRefused       the request itself was turned down
└── GlpiUncertain     a write was sent and its answer never came: it may or may not have been done

Codes are those of GLPI's API documentation, section "Errors". Messages name the address, the code and what to do; they
never hold a token, and nothing of an answer but the code and the first words of GLPI's own message.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "SESSION_CODES",
    "GlpiDenied",
    "GlpiError",
    "GlpiNotFound",
    "GlpiRefused",
    "GlpiTooLong",
    "GlpiUncertain",
    "GlpiUnreachable",
    "answer_error",
]

SESSION_CODES: Final = frozenset({"ERROR_SESSION_TOKEN_INVALID", "ERROR_SESSION_TOKEN_MISSING"})
_ADVICE: Final = {
    "ERROR_APP_TOKEN_PARAMETERS_MISSING": "set BRAIN_GLPI_APP_TOKEN (GLPI: Setup > General > API, the client's token)",
    "ERROR_WRONG_APP_TOKEN_PARAMETER": (
        "BRAIN_GLPI_APP_TOKEN is not the token of an active API client (GLPI: Setup > General > API)"
    ),
    "ERROR_NOT_ALLOWED_IP": "allow this machine's address in GLPI: Setup > General > API, the client's address range",
    "ERROR_LOGIN_PARAMETERS_MISSING": "set BRAIN_GLPI_USER_TOKEN (GLPI: the user's settings, remote access keys)",
    "ERROR_GLPI_LOGIN_USER_TOKEN": (
        "BRAIN_GLPI_USER_TOKEN is no valid API token of a user (GLPI: the user's settings, remote access keys)"
    ),
    "ERROR_GLPI_LOGIN": "the user cannot log in to GLPI; see that it is active and has a profile",
    "ERROR_RIGHT_MISSING": "give the profile of the token's user this right in GLPI",
}


class GlpiError(Exception):
    """See the module. `code` is GLPI's word for it, "" where it said none; `status` the HTTP status, 0 without one."""

    def __init__(self, message: str, *, code: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class GlpiUnreachable(GlpiError):
    """See the module."""


class GlpiTooLong(GlpiUnreachable):
    """See the module."""


class GlpiDenied(GlpiError):
    """See the module."""


class GlpiNotFound(GlpiError):
    """See the module."""


class GlpiRefused(GlpiError):
    """See the module."""


class GlpiUncertain(GlpiError):
    """See the module."""


def answer_error(where: str, status: int, answer: object) -> GlpiError:
    """Return the error that an answer with an HTTP status of 400 or more stands for.

    `answer` is the decoded body; the documented form is a list of code and message.
    """
    code, said = "", ""
    if isinstance(answer, list) and answer and isinstance(answer[0], str):
        code = answer[0][:80]
        said = answer[1] if len(answer) > 1 and isinstance(answer[1], str) else ""
    words = " ".join(said.partition("; view documentation")[0].split())[:200]
    named = f"{where}: GLPI answered {status} {code}".rstrip()
    advice = _ADVICE.get(code, "")
    message = f"{named} ({words})" if words else named
    if advice:
        message = f"{message}; {advice}"
    if status == 404 or code == "ERROR_ITEM_NOT_FOUND":
        return GlpiNotFound(message, code=code, status=status)
    if status in {401, 403} or code in _ADVICE or code in SESSION_CODES:
        return GlpiDenied(message, code=code, status=status)
    return GlpiRefused(message, code=code, status=status)
