"""Errors of the API: problem documents (RFC 9457), one sentence each."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

__all__ = ["Problem", "invalid", "problem", "problem_responses"]

_MEDIA_TYPE: Final = "application/problem+json"


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(description="One sentence: what is wrong, and what to do.")


def problem(status: int, detail: str) -> JSONResponse:
    """Return a problem document."""
    return JSONResponse(
        {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail},
        status_code=status,
        media_type=_MEDIA_TYPE,
    )


def invalid(error: RequestValidationError) -> JSONResponse:
    """Return the problem document for parameters that do not fit; values that were sent are not repeated."""
    faults = [f"{'.'.join(map(str, fault['loc'][1:])) or 'the request'}: {fault['msg']}" for fault in error.errors()]
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{'; '.join(faults)}.")


def problem_responses(**statuses: str) -> dict[int | str, dict[str, Any]]:
    """Return how a route's errors are described in OpenAPI: `problem_responses(bad_request="…")`."""
    return {
        HTTPStatus[name.upper()].value: {
            "description": text,
            "model": Problem,
            "content": {_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for name, text in statuses.items()
    }
