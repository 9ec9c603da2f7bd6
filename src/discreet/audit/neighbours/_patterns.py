"""Neighbouring inputs worth trying on any mechanism: answers to queries that move, and records that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, TypeVar

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity import adds_or_removes

__all__ = ["answer_patterns", "record_patterns"]

T = TypeVar("T", int, float)

Moves = Literal["all", "one_way", "one"]

_MOVES = ("all", "one_way", "one")
_LEAD = 4
_FAR = 1_000


def answer_patterns(
    size: int, *, sensitivity: T = 1, around: T = 0, moves: Moves = "all"
) -> Iterator[tuple[list[T], list[T]]]:
    """Pairs of vectors of answers, each of which moves by at most the sensitivity: at most 12 pairs.

    One above, one below, one above and the rest below, one below and the rest above, half above and half below, all
    above, all below, the X shape; some above and the rest where they were; and a lead of four times the sensitivity
    that shrinks, by both its ends or by one: what a choice of the largest comes to lose most by.

    Parameters
    ----------
    size
        How many answers, 1 or more.
    sensitivity
        By how much neighbours' answers are apart at most, above 0, in the unit of the answers.
    around
        Where the answers are: a threshold, for a mechanism that has one.
    moves
        ``"all"`` answers may move, each its own way (L∞); ``"one_way"``: all of them up, or all down, as counts do when
        a person is added; ``"one"``: no more than one of them (L1).

    Costs no privacy. Raises `ParameterError` for a size below 1, a sensitivity that is not above 0, and other moves.
    Source: Ding, Wang, Wang, Zhang and Kifer 2018, Table 2, but for the lead, which is that of
    ``proofs/exponential.md``.

    >>> for pair in answer_patterns(3, moves="one"):
    ...     print(*pair)
    [0, 0, 0] [1, 0, 0]
    [0, 0, 0] [-1, 0, 0]
    [4, 0, 0] [3, 0, 0]
    """
    if size < 1:
        raise ParameterError(f"size must be 1 answer or more, got {size!r}")
    if not sensitivity > 0:
        raise ParameterError(f"sensitivity must be above 0, got {sensitivity!r}")
    if moves not in _MOVES:
        raise ParameterError(f"moves must be one of {', '.join(_MOVES)}, got {moves!r}")
    rest, half = size - 1, size // 2
    flat, lead = [0] * size, [_LEAD, *[0] * rest]
    one = [(flat, [1, *[0] * rest]), (flat, [-1, *[0] * rest]), (lead, [_LEAD - 1, *[0] * rest])]
    one_way = [
        (flat, [1] * size),
        (flat, [-1] * size),
        (flat, [0] * half + [1] * (size - half)),
        (lead, [_LEAD, *[1] * rest]),
    ]
    both_ways = [
        (flat, [1, *[-1] * rest]),
        (flat, [-1, *[1] * rest]),
        (flat, [-1] * half + [1] * (size - half)),
        ([1] * half + [0] * (size - half), [0] * half + [1] * (size - half)),
        (lead, [_LEAD - 1, *[1] * rest]),
    ]
    chosen = {"one": one, "one_way": one + one_way, "all": one + one_way + both_ways}[moves]

    def placed(shape: list[int]) -> list[T]:
        return [around + step * sensitivity for step in shape]

    for shape, other in _each_once(chosen):
        yield placed(shape), placed(other)


def record_patterns(
    bounds: tuple[T, T], *, size: int = 10, relation: Relation = "add_remove", beyond: bool = False
) -> Iterator[tuple[list[T], list[T]]]:
    """Pairs of data sets of numbers between bounds, of which one record is extreme and comes, goes or changes.

    The others are all at one bound, alternate between both, are half low and half high, or are not there at all. The
    record stands first or last, for what depends on places. At most 40 pairs.

    Parameters
    ----------
    bounds
        The (lower, upper) of the records.
    size
        How many records the larger data set has, 1 or more.
    relation
        ``"add_remove"``: the second data set lacks the record; ``"substitute"``: it has another in its place.
    beyond
        Whether the record may also be far outside the bounds: a mechanism should clamp it.

    Costs no privacy. Raises `ParameterError` for a size below 1, bounds that are not (lower, upper), and other
    relations.

    >>> for pair in record_patterns((0, 100), size=1, relation="substitute"):
    ...     print(*pair)
    [100] [0]
    >>> len(list(record_patterns((0, 100), size=10)))
    16
    """
    lower, upper = bounds
    if not lower < upper:
        raise ParameterError(f"bounds must be (lower, upper) with lower < upper, got {bounds!r}")
    if size < 1:
        raise ParameterError(f"size must be 1 record or more, got {size!r}")
    one_comes = adds_or_removes(relation)
    rest, width = size - 1, upper - lower
    others: list[list[T]] = [
        [lower] * rest,
        [upper] * rest,
        [lower, upper] * (rest // 2) + [lower] * (rest % 2),
        [lower] * (rest // 2) + [upper] * (rest - rest // 2),
    ]
    extremes: list[T] = [upper, lower, *([upper + _FAR * width, lower - _FAR * width] if beyond else [])]
    if one_comes:
        pairs = [
            pair
            for rows, record in product([*others, []], extremes)
            for pair in (([*rows, record], rows), ([record, *rows], rows))
        ]
    else:
        pairs = [
            pair
            for rows, record in product(others, extremes)
            for other in (lower, upper)
            for pair in (([*rows, record], [*rows, other]), ([record, *rows], [other, *rows]))
        ]
    yield from _each_once(pairs)


def _each_once(pairs: list[tuple[list[T], list[T]]]) -> Iterator[tuple[list[T], list[T]]]:
    """Every pair that differs, once: which of its two is first does not matter."""
    seen: set[frozenset[tuple[T, ...]]] = set()
    for one, other in pairs:
        pair = frozenset([tuple(one), tuple(other)])
        if len(pair) == 2 and pair not in seen:
            seen.add(pair)
            yield one, other
