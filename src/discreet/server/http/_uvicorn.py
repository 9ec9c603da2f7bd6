"""uvicorn, run by a loop of ours: signals stop it and are not raised again, and nothing is logged."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

__all__ = ["Server", "server_of"]

_STOP_SECONDS = 20
_SILENT = logging.CRITICAL + 1


class Server(uvicorn.Server):
    """A server that its loop stops, by `should_exit`."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the loop."""
        yield


def server_of(app: FastAPI, context: ssl.SSLContext | None) -> Server:
    """A server of the application, with TLS if there is a context. Its logs would name addresses, so there are none."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(_SILENT)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    config.load()
    config.ssl = context
    return Server(config)
