"""Neighbours with something odd in them, made by the user: their outputs are held to the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from discreet.audit._bad_numbers import kind_of
from discreet.audit._claim import Claim
from discreet.audit._finding import Finding, unmeasured
from discreet.audit._outputs import draws, numbers_in, text_of
from discreet.audit._subject import Draws
from discreet.audit._told_apart import Cells, flagged, told_apart

__all__ = ["MOVES", "moves"]

MOVES = "outputs on spoilt data"

Spoil = Callable[[Any], Iterable[Any]]


def moves(mechanism: Draws, data: Any, spoil: Spoil, claim: Claim | None, size: int) -> list[Finding]:
    """Outputs on the data against those on each neighbour that `spoil` makes of them, held to the claim."""
    found: list[Finding] = []
    clean = draws(mechanism, data, size)
    for place, neighbour in enumerate(spoil(data), 1):
        outputs = draws(mechanism, neighbour, size)
        told = told_apart(_ranges(clean, outputs), claim)
        leak = "Clamp each record to public bounds, and NaN to one of them, before anything is computed."
        fine = "Outputs move no more than claimed."
        found.append(flagged(f"{MOVES} {place}", told, claim, leak=leak, fine=fine))
    return found or [unmeasured(MOVES, "`spoil` made no data.")]


def _ranges(clean: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Cells]:
    """What came of each call, and the range that each number is in: 32 of them, as on the clean data."""
    found: dict[str, Cells] = {
        "what came of a call": ([_came(each) for each in clean], [_came(each) for each in outputs])
    }
    first, second = numbers_in(clean), numbers_in(outputs)
    for name in first.keys() & second.keys():
        worlds = [np.array([_as_float(each) for each in world]) for world in (first[name], second[name])]
        learned = worlds[0][: len(clean) // 4]
        learned = learned[np.isfinite(learned)]
        if learned.size:
            edges = np.unique(np.quantile(learned, np.linspace(0, 1, 33)))
            cells: list[Sequence[Hashable]] = [np.searchsorted(edges, world).tolist() for world in worlds]
            found[f"the range of {name}, of {edges.size + 1},"] = cells[0], cells[1]
    return found


def _came(output: object) -> str:
    return text_of(output) if isinstance(output, BaseException) else kind_of(output)


def _as_float(value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan
