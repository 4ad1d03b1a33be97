"""The HTTP API: health, readiness and status (spec 09). Errors are RFC 9457 problem documents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from brain.api.access import AccessPolicy

__all__ = ["create_app"]


def create_app(
    *,
    version: str,
    access: AccessPolicy,
    status: Callable[[], Awaitable[dict[str, Any]]],
    ready: Callable[[], Awaitable[list[str]]],
) -> FastAPI:
    """Return the application.

    `status` builds the status document, `ready` names what is not ready (an empty list: everything is).
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

    @app.get("/health", summary="Is the process alive?")
    async def health() -> dict[str, str]:
        return {"status": "ok", "service": "neural-brain", "version": version}

    @app.get("/health/ready", summary="Is the store there and writable?", response_model=None)
    async def readiness() -> Response:
        missing = await ready()
        if missing:
            return problem(503, "; ".join(missing))
        return JSONResponse({"status": "ready", "service": "neural-brain", "version": version})

    @app.get("/status", summary="Everything that can be counted, from the store")
    async def status_document() -> dict[str, Any]:
        return await status()

    return app


def problem(status: int, detail: str) -> JSONResponse:
    """Return a problem document (RFC 9457)."""
    return JSONResponse(
        {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail},
        status_code=status,
        media_type="application/problem+json",
    )
