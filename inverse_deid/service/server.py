"""Running the application with uvicorn; what is logged holds no text and no query."""

from __future__ import annotations

import logging
import sys
from typing import Any

import uvicorn
from starlette.types import ASGIApp

SWITCH_SECONDS = 0.0005
"""How long the masking thread may keep the interpreter while requests wait to be read."""

MAX_CONNECTIONS = 1024


def serve_app(app: ASGIApp, host: str, port: int, *, seconds: float, log_requests: bool = False) -> None:
    """Serve until stopped.

    Args:
        app: The application.
        host: Address to listen on.
        port: Port, 0 = a free one, which is logged.
        seconds: How long requests that run get to be answered when the service is stopped.
        log_requests: One line a request: method, path, status, time.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.getLogger("inverse_deid.service").setLevel(logging.INFO if log_requests else logging.ERROR)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_config=log_settings(),
        access_log=False,  # it holds paths and queries as they came
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=round(seconds) + 1,
    )


def without_exception(record: logging.LogRecord) -> bool:
    """Take exceptions off a line of the log: their messages may quote a text."""
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = "%s (%s)", (record.getMessage(), kind.__name__ if kind else "error")
        record.exc_info = record.exc_text = None
    return True


def log_settings() -> dict[str, Any]:
    """Lines of the service and of uvicorn on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"plain": {"()": lambda: without_exception}},
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["plain"]}},
        "loggers": {
            "uvicorn": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "asyncio": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
            "inverse_deid.service": {"handlers": ["stderr"], "propagate": False},
        },
    }
