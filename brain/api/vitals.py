"""`/health`, `/health/ready` and `/status`: whether the process lives, and everything that can be counted (spec 09)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from brain.api.problems import problem

__all__ = ["vital_routes"]


def vital_routes(
    version: str, status: Callable[[], Awaitable[dict[str, Any]]], ready: Callable[[], Awaitable[list[str]]]
) -> APIRouter:
    """Return the routes. `status` builds the status document, `ready` names what is not ready (nothing: all is)."""
    routes = APIRouter(tags=["vitals"])

    @routes.get("/health", summary="Is the process alive?")
    async def health() -> dict[str, str]:
        return {"status": "ok", "service": "neural-brain", "version": version}

    @routes.get("/health/ready", summary="Is the store there and writable?", response_model=None)
    async def readiness() -> Response:
        missing = await ready()
        if missing:
            return problem(503, "; ".join(missing))
        return JSONResponse({"status": "ready", "service": "neural-brain", "version": version})

    @routes.get("/status", summary="Everything that can be counted, from the store")
    async def status_document() -> dict[str, Any]:
        return await status()

    return routes
