"""Limits of connections, and enough file descriptors for them."""

from __future__ import annotations

import resource
from dataclasses import dataclass, fields

from discreet.errors import ParameterError

__all__ = ["ConnectionLimits", "allow_files"]

OTHER_FILES = 256
"""Files beside the open connections: those accepted before there is room for them, databases, libraries."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What is taken at most. Raises `ParameterError` for a number below 1.

    Attributes
    ----------
    body
        The bytes of one body.
    held
        The bytes of all bodies that are not answered yet; beyond it senders are asked to retry.
    connections
        How many are open at once; then the one that has been idle for longest makes room.
    seconds
        For a TLS handshake, for a head to come in full, and for a client to read what is sent; a body has as long and
        a second for each 64 KiB.
    """

    body: int = 1 << 20
    held: int = 1 << 26
    connections: int = 1_000
    seconds: int = 20

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{each.name} must be a whole number, 1 or more, got {value!r}")
        if self.held < self.body:
            raise ParameterError(f"held must be at least body = {self.body}, or no such body is ever taken")


def allow_files(connections: int) -> None:
    """Let this process open enough files for so many connections. Raises `ParameterError` where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        raise ParameterError(
            f"this process may open {hard} files, too few for {connections} connections; take fewer, at most "
            f"{hard - OTHER_FILES}, or raise the limit (ulimit -n)"
        )
