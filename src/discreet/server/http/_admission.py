"""What comes before a body is read: whether the address may ask, whether the body is short enough, and who asks.

A body is read, parsed and checked on the event loop: nobody who has not signed in makes the server do that, but for the
few bytes of a code.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.server.desk import Buckets, Refusal
from discreet.server.http._problems import problem_of

__all__ = ["LARGE", "AddressRate", "AdmittedRoute", "OpenRoute", "check_rate"]

LARGE = 1 << 20
"""The bytes of a basket, or of a release that is verified, at most."""
_USUAL, _SMALL = 1 << 18, 1 << 12
_LARGE_PATHS = ("/baskets", "/verify")


def check_rate(buckets: Buckets, name: str) -> None:
    """Take a request from a bucket. Raises `Refusal` ("rate") where it is empty."""
    wait = buckets.take(name)
    if wait:
        raise Refusal("rate", "too many requests: send fewer, or wait as long as Retry-After says", wait=wait)


class AddressRate:
    """Middleware that takes each request from the bucket of its address."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self._app, self._buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                check_rate(self._buckets, (scope.get("client") or ("",))[0])
            except Refusal as refusal:
                await problem_of(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class OpenRoute(APIRoute):
    """A route that is there before anybody has signed in: its body has few bytes."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_short(request: Request) -> Response:
            _check_length(request, _SMALL)
            return await handle(request)

        return handle_short


class AdmittedRoute(APIRoute):
    """A route whose body is read for those who have signed in at one of the desks, and if it is not too long."""

    def get_route_handler(self) -> Handler:
        handle, reads = super().get_route_handler(), self.body_field is not None
        longest = LARGE if self.path.endswith(_LARGE_PATHS) else _USUAL

        async def handle_admitted(request: Request) -> Response:
            _check_length(request, longest)
            if reads:
                await request.app.state.api.admit(request)
            return await handle(request)

        return handle_admitted


def _check_length(request: Request, longest: int) -> None:
    """Raise an error of HTTP (413) for a body that is longer, by its head: there are no chunked ones."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > longest:
        raise HTTPException(413, f"a body has at most {longest:,} bytes here")
