"""Caps on one unit's part to choose from: a public list that rises by a factor."""

from __future__ import annotations

__all__ = ["caps_up_to"]


def caps_up_to(largest: int, per_octave: int = 1, octaves: int | None = None) -> tuple[int, ...]:
    """The largest cap, and below it the whole numbers nearest to 1, q, q², … with so many steps for each doubling.

    With `octaves` only those that at most so many doublings separate from the largest. Public: it depends on no data.

    >>> caps_up_to(100), caps_up_to(10, per_octave=2), caps_up_to(100, octaves=2)
    ((1, 2, 4, 8, 16, 32, 64, 100), (1, 2, 3, 4, 6, 8, 10), (32, 64, 100))
    """
    steps = range(largest.bit_length() * per_octave)
    powers = {round(2 ** (step / per_octave)) for step in steps}
    near = (power for power in powers if octaves is None or largest <= power << octaves)
    return (*sorted(power for power in near if power < largest), largest)
