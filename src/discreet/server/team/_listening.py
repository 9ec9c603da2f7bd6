"""Sockets to listen at, bound before anything else happens, so that all workers share them."""

from __future__ import annotations

import socket

from discreet.errors import ParameterError
from discreet.server.team._settings import Listener

__all__ = ["bound"]

_QUEUE = 1_024


def bound(at: Listener) -> socket.socket:
    """A socket that listens at an address. Raises `ParameterError` if it cannot."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY for it alone
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((at.host, at.port))
        opened.listen(_QUEUE)
        opened.settimeout(0)
    except (OSError, OverflowError, UnicodeError) as error:
        opened.close()
        reason = error.strerror if isinstance(error, OSError) else "it is no address"
        raise ParameterError(f"cannot listen at {at}: {reason}; take another address or port") from None
    return opened
