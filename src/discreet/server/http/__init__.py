"""The HTTP API: what carries it is uvicorn, with a protocol class that is strict and bounded."""

from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure

__all__ = ["HttpServer", "StrictHttp", "configure"]
