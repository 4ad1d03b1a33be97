"""The HTTP API: who may ask, and what errors look like; each subject has a module of routes (spec 09)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from brain.api.access import AccessPolicy
from brain.api.problems import invalid, problem
from brain.api.vitals import vital_routes

__all__ = ["create_app"]


def create_app(
    *,
    version: str,
    access: AccessPolicy,
    status: Callable[[], Awaitable[dict[str, Any]]],
    ready: Callable[[], Awaitable[list[str]]],
    routes: Sequence[APIRouter] = (),
) -> FastAPI:
    """Return the application.

    `status` builds the status document, `ready` names what is not ready (an empty list: everything is); `routes` are
    those of the subjects beside them.
    """
    app = FastAPI(title="Neural Brain", version=version, redoc_url=None)

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        refused = access.refusal(
            host=request.headers.get("host", ""),
            origin=request.headers.get("origin"),
            authorization=request.headers.get("authorization"),
        )
        if refused is not None:
            return problem(*refused)
        response = await call_next(request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-store"
        return response

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        detail = f"There is nothing at {request.url.path}." if error.status_code == 404 else str(error.detail)
        return problem(error.status_code, detail)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return problem(500, "The daemon could not answer; its log says why.")

    @app.exception_handler(RequestValidationError)
    async def unfit(request: Request, error: RequestValidationError) -> Response:
        return invalid(error)

    app.include_router(vital_routes(version, status, ready))
    for more in routes:
        app.include_router(more)
    return app
