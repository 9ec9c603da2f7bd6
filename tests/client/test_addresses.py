"""What is no address or token is refused in words, before anything is sent."""

from __future__ import annotations

import pytest

from discreet.client import AsyncRemoteSession, RemoteSession
from discreet.errors import ParameterError

NO_ADDRESSES = [
    "https://a b",
    "https://a\0b",
    "https://a\tb",
    "https://ex%61mple",
    "https://\u2488com",
    "https://\ud800",
    "https://a/\u202e",
    "https://a..b",
    "https://ä..b",
    "https://.a",
    "https://" + "a" * 300,
    "https://" + "ä" * 300,
    "https://" + "a." * 200,
    "https://[::1",
    "https://[1:2]",
    "https://a:99999",
]


@pytest.mark.parametrize("url", NO_ADDRESSES, ids=ascii)
@pytest.mark.parametrize("session", [RemoteSession, AsyncRemoteSession])
def test_what_is_no_address_is_refused(session: type[RemoteSession | AsyncRemoteSession], url: str) -> None:
    with pytest.raises(ParameterError, match="address"):
        session(url, account="ada", token="x")


@pytest.mark.parametrize(
    "url", ["https://münchen.example", "https://a_b.example.", "https://[::1]:8443", "https://10.0.0.1"]
)
def test_other_addresses_are_taken(url: str) -> None:
    RemoteSession(url, account="ada", token="x").close()


@pytest.mark.parametrize("token", ["\ud800", "ä", "a\nb", "a\0"], ids=ascii)
def test_what_is_no_token_is_refused_and_not_quoted(token: str) -> None:
    for account in ("ada", None):
        with pytest.raises(ParameterError) as refused:
            RemoteSession("https://a.example", account=account, token=token)
        assert token not in str(refused.value)
