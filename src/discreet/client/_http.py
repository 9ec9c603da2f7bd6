"""Requests by httpx2: what both sessions hand to it, and how its answers and failures are read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from discreet.client._address import Address, check_encoded
from discreet.client._steps import HttpReply, HttpRequest, Lost
from discreet.errors import DataError, MissingExtra, ParameterError, printable

if TYPE_CHECKING:
    import ssl

    import httpx2

__all__ = ["PART", "check_size", "client_options", "lasted", "load_httpx2", "lost", "reply_of", "request_options"]

PART = 1 << 16
_CONNECT_SECONDS = 10.0


def load_httpx2() -> Any:
    """The library. Raises `MissingExtra` without it."""
    try:
        import httpx2
    except ImportError:
        raise MissingExtra("A server is asked by httpx2: pip install 'discreet[client]'") from None
    return httpx2


def client_options(address: Address, signs_in: str, timeout: float, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """What a client of httpx2 is made with: no redirects, and no proxy to this machine.

    What signs in is set by a function, so that no object which is shown or logged has it.
    """

    def sign(request: httpx2.Request) -> httpx2.Request:
        request.headers["Authorization"] = signs_in
        return request

    library = load_httpx2()
    try:
        url = library.URL(f"{address.url}/v1")
    except (library.InvalidURL, ValueError):
        raise ParameterError(f"{printable(address.url)[:200]} is the address of no server") from None
    check_encoded(url.raw_host.decode("ascii"))
    return {
        "base_url": url,
        "auth": sign,
        "follow_redirects": False,
        "timeout": library.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        "trust_env": not address.is_local,
        **({} if tls is None else {"verify": tls}),
    }


def request_options(request: HttpRequest) -> dict[str, Any]:
    """What is sent. An answer is not compressed, so that its size is its size."""
    headers = {**request.headers, "Accept-Encoding": "identity"}
    return {
        "method": request.method,
        "url": request.path,
        "content": request.content,
        "headers": headers,
        "params": dict(request.parameters),
    }


def lasted(began: float, timeout: float) -> Lost | None:
    """What came of a request that takes longer than it may: the timeout of httpx2 is one of each read."""
    return Lost("ReadTimeout") if time.monotonic() - began > timeout else None


def check_size(size: int, request: HttpRequest) -> None:
    """Raise `DataError` for an answer that is longer than any."""
    if size > request.most:
        raise DataError(f"the server's answer has more than {request.most:,} bytes; ask for fewer rows")


def reply_of(response: httpx2.Response, content: bytes) -> HttpReply:
    """An answer that was read in full."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise DataError("the server's answer is compressed, though that was not asked for")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpReply(response.status_code, headers, content)


def lost(error: Exception) -> Lost:
    """Why no answer came. Only of connections is more said than the kind of failure: others may quote a header."""
    kind = type(error).__name__
    return Lost(f"{kind}: {printable(str(error))[:200]}" if kind == "ConnectError" else kind)
