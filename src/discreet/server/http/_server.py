"""uvicorn, set up so that it is strict and says nothing about its clients."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra
from discreet.server.connections import allow_files
from discreet.server.http._protocol import BugLog, StrictHttp

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise MissingExtra("the HTTP API needs uvicorn: pip install 'discreet[server]'") from error

if TYPE_CHECKING:
    from discreet.server.http._asgi import Application

__all__ = ["HttpServer", "configure"]

_AT_ONCE, _QUEUE = 32, 1_024
_STOP_SECONDS = 20
_SILENT = logging.CRITICAL + 1


def configure(app: Application | str, http: StrictHttp, **options: Any) -> uvicorn.Config:
    """Uvicorn's configuration for an application: `http` carries it, nothing is logged about clients.

    `options` are uvicorn's, such as ``host``, ``port``, ``workers`` and ``factory``; they win over what is set here.
    """
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(_SILENT)
    ours: dict[str, Any] = {
        "http": http,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,
        "backlog": _AT_ONCE,
        "timeout_graceful_shutdown": _STOP_SECONDS,
    }
    return uvicorn.Config(app, **{**ours, **options})


class HttpServer(uvicorn.Server):
    """uvicorn's server for a configuration of `configure`, with room for the files of its connections.

    Whoever runs its loop stops it, by `should_exit`: it takes no signals. Raises `ParameterError` where the process may
    open too few files.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the loop: uvicorn raises them again when it has stopped."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with a queue that is longer than what is accepted at once, as each of those takes a file."""
        http: Any = self.config.http
        allow_files(http.limits.connections)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_report_bugs(BugLog()))
        await super().startup(sockets)
        for server in self.servers:
            for each in server.sockets:
                with socket.socket(fileno=os.dup(each.fileno())) as same:
                    same.listen(_QUEUE)


def _report_bugs(report: BugLog) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """What becomes of errors that reach the event loop: asyncio would log them with addresses."""

    def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException) and not isinstance(error, OSError):
            report(error)

    return handle
