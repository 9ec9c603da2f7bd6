"""Where a server is, and what signs in there; neither is ever part of a message."""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from discreet.errors import ParameterError

__all__ = ["Address", "authorization", "check_encoded"]

_BEARER = re.compile(r"[A-Za-z0-9._~+/=-]{1,8192}")
_LABELS = re.compile(r"(?=.{1,254}$)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
"""A name as DNS has it: RFC 1035, section 2.3.4."""
_LONGEST = 4_096
_NO_ADDRESS = "the address of a server is https://HOST or https://HOST:PORT"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, as ``https://host[:port][/path]``. Raises `ParameterError` for what is none.

    HTTP without TLS is for this machine alone: elsewhere tokens could be read on their way.

    >>> Address("https://desk.example/").url, Address("http://localhost:8080").is_local
    ('https://desk.example', True)
    """

    url: str
    is_local: bool = field(init=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise ParameterError(_NO_ADDRESS) from None
        if not self.url.strip().isprintable() or not _is_host(host):
            raise ParameterError(_NO_ADDRESS)
        if parts.username is not None or parts.password is not None:
            raise ParameterError("the address of a server has no name or token in it: give account= and token=")
        if parts.scheme not in ("https", "http") or not host or parts.query or parts.fragment:
            raise ParameterError(_NO_ADDRESS)
        local = _is_loopback(host)
        if parts.scheme == "http" and not local:
            raise ParameterError(
                "http:// is taken for this machine alone, as tokens could be read on their way: the server needs TLS, "
                "and its address begins with https://"
            )
        at = f"[{host}]" if ":" in host else host
        url = f"{parts.scheme}://{at}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"
        object.__setattr__(self, "url", url)
        object.__setattr__(self, "is_local", local)


def _is_host(host: str) -> bool:
    """Whether a host is an address of IP or a name; whether another than an ASCII name is one, IDNA says later."""
    if ":" not in host:
        return not host.isascii() or _LABELS.fullmatch(host) is not None
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def check_encoded(host: str) -> None:
    """Raise `ParameterError` for a host that is no name in ASCII, as IDNA encodes it."""
    if not _is_host(host) or not host.isascii():
        raise ParameterError(_NO_ADDRESS)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def authorization(account: str | None, token: str | None) -> str:
    """The Authorization header of an account with its token, or of a token of an identity provider without one.

    Raises `ParameterError`, which never quotes the token. Source: RFC 7617, RFC 6750.
    """
    if not isinstance(token, str) or not token:
        raise ParameterError("a server wants a token: give account= and token=, or the token= of an identity provider")
    if account is None:
        if not _BEARER.fullmatch(token):
            raise ParameterError("this is no bearer token; for an account's token, give account= too")
        return f"Bearer {token}"
    if ":" in account or not account.isprintable() or len(account) > _LONGEST:
        raise ParameterError("account is the name of an account, printable and without a colon")
    if len(token) > _LONGEST or not (token.isascii() and token.isprintable()):
        raise ParameterError("token is no account's token: it is longer, or has other characters")
    return f"Basic {base64.b64encode(f'{account}:{token}'.encode()).decode()}"
