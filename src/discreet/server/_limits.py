"""How much a collector takes, and for how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, fields

from discreet.errors import ParameterError

__all__ = ["JSON_BODY", "Limits"]

JSON_BODY = 1 << 18
"""The bytes of a batch in JSON: to parse it holds all else up, and takes some thirty times its size."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a collector takes at most. Raises `ParameterError` for a number below 1.

    Attributes
    ----------
    body
        The bytes of one batch.
    held
        The bytes of all batches that are not answered yet; beyond it senders are told to come again.
    connections
        How many are open at once; then the one that has been idle for longest makes room.
    remember
        How many batches are known by their key, the newest; an older one that came again would be counted again.
    seconds
        For a head to come whole, and for a sender to read an answer; a body has as long and a second for each 64 KiB.
    """

    body: int = 1 << 24
    held: int = 1 << 26
    connections: int = 1_000
    remember: int = 10_000_000
    seconds: int = 20

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{each.name} must be a whole number, 1 or more, got {value!r}")
        if self.held < self.body:
            raise ParameterError(f"held must be at least body = {self.body}, or no such batch is ever taken")
