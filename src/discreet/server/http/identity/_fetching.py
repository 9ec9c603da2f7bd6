"""Documents of an identity provider over HTTPS: bounded in size and time, and from nowhere else."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

from discreet.errors import DiscreetError, MissingExtra

try:
    import httpx2
except ImportError:
    raise MissingExtra("An identity provider is asked by httpx2: pip install 'discreet[server]'") from None

__all__ = ["ProviderFailed", "fetch_json"]

_MOST_BYTES = 1 << 18
_SECONDS = 10.0


class ProviderFailed(DiscreetError):
    """The identity provider cannot be reached, or answers with what cannot be used."""


def fetch_json(
    url: str,
    form: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
    seconds: float = _SECONDS,
) -> dict[str, Any]:
    """The JSON object at a URL, or the answer to a form that is sent there.

    At most 256 KiB and `seconds` in all, connecting included; redirects are not followed. Call it in a thread without
    an event loop. Raises `ProviderFailed`.
    """
    try:
        content = asyncio.run(asyncio.wait_for(_fetch(url, form, credentials), seconds))
        document = json.loads(content)
    except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError, TimeoutError):
        raise ProviderFailed("the identity provider cannot be reached now, or does not answer in time") from None
    except (ValueError, RecursionError):
        raise ProviderFailed("the identity provider answers with something that is no JSON") from None
    if not isinstance(document, dict):
        raise ProviderFailed("the identity provider answers with something that is no JSON object")
    return document


async def _fetch(url: str, form: Mapping[str, str] | None, credentials: tuple[str, str] | None) -> bytes:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with (
        httpx2.AsyncClient(verify=_trusted(), follow_redirects=False, timeout=_SECONDS) as client,
        client.stream(
            "GET" if form is None else "POST",
            url,
            data=None if form is None else dict(form),
            headers=headers,
            auth=credentials,
        ) as answer,
    ):
        if answer.status_code != 200:
            raise ProviderFailed(f"the identity provider answers with status {answer.status_code}")
        content = bytearray()
        async for part in answer.aiter_raw():
            content += part
            if len(content) > _MOST_BYTES:
                raise ProviderFailed("the identity provider answers with too much")
    return bytes(content)


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities that this machine trusts, read once: that takes longer than the rest of a request."""
    return httpx2.create_ssl_context()
