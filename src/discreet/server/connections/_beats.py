"""Whole beats: what leaves on one says little of how long it took."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from discreet.errors import ParameterError

__all__ = ["beat_after", "check_beat", "has_passed", "until_beat"]

_SHORTEST, _LONGEST = 0.01, 3600.0


def check_beat(beat: float | None) -> None:
    """Raise `ParameterError` for a beat, in seconds, that makes no sense; None is no beat."""
    if beat is not None and not _SHORTEST <= beat <= _LONGEST:
        raise ParameterError(f"a beat has from {_SHORTEST} to {_LONGEST:.0f} seconds, got {beat}")


def has_passed(beat: float | None, at: datetime) -> bool:
    """Whether a whole multiple of a beat has come since a time: then what was there at it has left. So without a beat.

    >>> from datetime import UTC
    >>> has_passed(3600.0, datetime.now(UTC).replace(year=2024)), has_passed(None, datetime.now(UTC))
    (True, True)
    """
    return beat is None or time.time() // beat > at.timestamp() // beat


def beat_after(beat: float | None, at: datetime) -> datetime:
    """The whole multiple of a beat at which what was there at a time leaves: the first after it. Without one, the time.

    >>> from datetime import UTC
    >>> beat_after(60.0, datetime(2024, 1, 1, 12, 0, 1, tzinfo=UTC)).isoformat()
    '2024-01-01T12:01:00+00:00'
    """
    return at if beat is None else datetime.fromtimestamp((at.timestamp() // beat + 1) * beat, at.tzinfo)


async def until_beat(beat: float | None) -> None:
    """Wait for the next whole multiple of a beat by the clock, for at most one beat; None waits for nothing."""
    if beat is not None:
        await asyncio.sleep(beat - time.time() % beat)
