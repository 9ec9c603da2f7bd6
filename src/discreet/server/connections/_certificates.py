"""TLS with certificates that are renewed while the server runs."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError

__all__ = ["Certificates"]

_CHECK_SECONDS = 1.0


def _ignore(_line: str) -> None:
    """What is done with a line where nobody asked for it."""


class Certificates:
    """A certificate chain and its private key, two PEM files that are read again when they change.

    Connections that begin after a change have the new certificate; those that are open go on. A pair that cannot be
    read, or does not match, as while one of the files is replaced, leaves the old one in use, and is tried again.
    TLS 1.2 is the oldest version spoken, without renegotiation. Raises `ParameterError` for files that
    are no such pair.

    Parameters
    ----------
    on_status
        Is called with a line when a new certificate is in use, and when one could not be read.
    protocols
        What is offered by ALPN (RFC 7301).
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        *,
        on_status: Callable[[str], object] = _ignore,
        protocols: tuple[str, ...] = ("http/1.1",),
    ) -> None:
        self._certificate, self._key, self._on_status, self._protocols = certificate, key, on_status, protocols
        self._stamp = self._read_stamp()
        try:
            self._context = self._load()
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise ParameterError(
                f"{certificate} and {key} are no certificate with its unencrypted private key in PEM: {_reason(error)}"
            ) from None
        self._checked = time.monotonic()
        self._failed = False

    def __reduce__(self) -> tuple[Any, ...]:
        remake = partial(Certificates, on_status=self._on_status, protocols=self._protocols)
        return remake, (self._certificate, self._key)

    @property
    def context(self) -> ssl.SSLContext:
        """What a connection that begins now is wrapped in; looks for changed files once a second at most."""
        now = time.monotonic()
        if now - self._checked >= _CHECK_SECONDS:
            self._checked = now
            stamp = self._read_stamp()
            if stamp != self._stamp or self._failed:
                self._stamp = stamp
                self.reload()
        return self._context

    def reload(self) -> None:
        """Read the files now, as on SIGHUP."""
        try:
            self._context = self._load()
        except (OSError, ValueError) as error:
            if not self._failed:
                self._on_status(f"the new TLS certificate cannot be used: {_reason(error)}; the old one stays in use")
            self._failed = True
        else:
            self._failed = False
            self._on_status("the TLS certificate was read again")

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(list(self._protocols))
        context.load_cert_chain(self._certificate, self._key, password=_refuse_password)
        return context

    def _read_stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in (self._certificate, self._key))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _refuse_password() -> str:
    """Instead of a prompt in a terminal that a server does not have."""
    raise ValueError("the private key is encrypted")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return error.strerror or type(error).__name__
    return str(error)
