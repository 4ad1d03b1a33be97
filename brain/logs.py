"""The daemon's log: lines for a person at a terminal, JSON lines for everything else; always on stderr."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

__all__ = ["configure_logs"]


def configure_logs(level: Literal["debug", "info", "warning", "error"]) -> None:
    """Set up structlog and the standard library's loggers at `level`."""
    number = logging.getLevelNamesMapping()[level.upper()]
    terminal = sys.stderr.isatty()
    renderer: structlog.types.Processor
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if terminal else [structlog.processors.format_exc_info]),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr, force=True)
