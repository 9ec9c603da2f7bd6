"""Sockets to listen at, bound before anything else happens, so that all workers share them."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from discreet.errors import ParameterError
from discreet.server.team._settings import Listener

__all__ = ["Certificate", "bound"]

_QUEUE = 1_024


def bound(at: Listener) -> socket.socket:
    """A socket that listens at an address. Raises `ParameterError` if it cannot."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
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


class Certificate:
    """A certificate with its key, in a context that takes a new one without a restart.

    Raises `ParameterError` for files that are none.
    """

    def __init__(self, certificate: Path, private_key: Path) -> None:
        self._files = (certificate, private_key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._seen: tuple[int, ...] = ()
        self.reload()

    def reload(self) -> bool:
        """Read the files again if they have changed; whether they had. New connections have the new certificate."""
        certificate, private_key = self._files
        try:
            seen = tuple(path.stat().st_mtime_ns for path in self._files)
            if seen == self._seen:
                return False
            self.context.load_cert_chain(certificate, private_key)
        except (OSError, ssl.SSLError) as error:
            raise ParameterError(f"the certificate {certificate} with {private_key} cannot be used: {error}") from None
        self._seen = seen
        return True
