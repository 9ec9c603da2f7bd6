"""What the collector takes and answers, over strict HTTP/1.1 connections."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.server.connections import Answer, ConnectionLimits, Refused, Request

__all__ = ["JSON_BODY", "Answer", "Limits", "Refused", "Request"]

JSON_BODY = 1 << 18
"""The most bytes of a batch in JSON: parsing blocks everything else, and takes some thirty times its size."""


@dataclass(frozen=True, slots=True)
class Limits(ConnectionLimits):
    """What a collector takes at most: as for any connections, with larger bodies.

    Attributes
    ----------
    remember
        How many batches are known by their key, the newest; an older one that came again would be counted again.
    """

    body: int = 1 << 24
    remember: int = 10_000_000
