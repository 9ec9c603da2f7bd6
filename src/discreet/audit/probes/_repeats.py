"""Noise that is used twice: outputs that repeat, or that move together, where fresh noise would not.

Fresh outputs are independent. Then any two of them are equal, or differ by a given amount, with the same probability.
It is bounded from pairs of other calls, so low noise may repeat often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from discreet.audit.black_box._claim import Claim, at_least, at_most
from discreet.audit.black_box._subject import Column, Draws, Outputs, draws, text_of
from discreet.audit.probes._distinguisher import ALARM, Cells, distinguish, flagged
from discreet.audit.probes._finding import Finding, unmeasured
from discreet.audit.probes._lattice import exact

__all__ = ["CACHED", "CONSTANT", "REUSED", "SHARED", "WITHIN", "agreement", "repeats"]

CONSTANT, WITHIN, REUSED, SHARED, CACHED = (
    "constant outputs",
    "noise reused within an output",
    "noise reused between calls",
    "noise shared by inputs",
    "noise kept by input",
)
_LAGS = 200
_FRESH = "Draw fresh noise for each call and each number."


def repeats(mechanism: Draws, pair: tuple[Any, Any], outputs: Outputs, claim: Claim | None) -> list[Finding]:
    """Five findings about repeated outputs. Draws as many outputs again as it is given, in turns on the two inputs."""
    texts = [text_of(each) for each in outputs.first], [text_of(each) for each in outputs.second]
    return [
        _constant(texts, claim),
        _within(outputs.columns, claim),
        _reused(texts),
        _shared(outputs.columns),
        _cached(mechanism, pair, len(outputs.first), claim),
    ]


def agreement(texts: Sequence[Hashable], alarm: float) -> float:
    """An upper confidence bound on the probability that two fresh outputs agree, with error at most `alarm`.

    >>> round(agreement(["a", "a", "b", "a"] * 5_000, 1e-10), 2)
    0.53
    """
    half = len(texts) // 2
    return float(at_most(sum(texts[2 * i] == texts[2 * i + 1] for i in range(half)), half, alarm))


def _constant(texts: tuple[list[str], list[str]], claim: Claim | None) -> Finding:
    distinguisher = distinguish({"the output": texts}, claim)
    alike = {*texts[0], *texts[1]}
    fine = "No set of single outputs comes up more often on one input than claimed."
    if len(alike) == 1:
        fine = "All outputs on both inputs are the same one: that tells nothing of the input, and is of no use either."
    return flagged(
        CONSTANT, distinguisher, claim, fine=fine, leak=f"An output that one input gives and the other cannot. {_FRESH}"
    )


def _within(columns: Sequence[Column], claim: Claim | None) -> Finding:
    """Differences of two numbers in one output: noise that both have is gone from them."""
    if len(columns) < 2:
        return unmeasured(WITHIN, "the outputs hold fewer than two numbers.")
    gaps: dict[str, Cells] = {}
    alike: list[str] = []
    for i, (one, *worlds) in enumerate(columns):
        for other, *theirs in columns[i + 1 :]:
            label = f"{other} − {one}"
            first, second = (_gaps(mine, their) for mine, their in zip(worlds, theirs, strict=True))
            gaps[label] = first, second
            if {*first, *second} == {first[0]} and first[0] is not None and len(set(worlds[0])) > 1:
                alike.append(label)
    finding = flagged(
        WITHIN, distinguish(gaps, claim), claim, leak=_FRESH, fine="Differences within an output vary with the noise."
    )
    if alike and not finding.violated:
        sentence = (
            f"{', '.join(alike[:3])} never varies, though both do: they have the same noise. It tells the difference "
        )
        sentence += f"of the two exact answers wherever it is not the same for all data. {_FRESH}"
        return Finding(WITHIN, violated=False, sentence=sentence, numbers={"constant": alike}, warning=True)
    return finding


def _gaps(one: Sequence[Any], other: Sequence[Any]) -> list[Hashable]:
    """Differences; of floats to 30 bits of the larger, so that rounding does not hide that noise cancels."""
    gaps: list[Hashable] = []
    for a, b in zip(one, other, strict=True):
        if (first := exact(a)) is None or (second := exact(b)) is None:
            gaps.append(None)
        elif isinstance(a, float) or isinstance(b, float):
            gap = float(b) - float(a)
            gaps.append(0.0 if abs(gap) < 2.0**-40 * max(abs(float(a)), abs(float(b))) else float(f"{gap:.8g}"))
        else:
            gaps.append((second[0] * first[1] - first[0] * second[1], first[1] * second[1]))
    return gaps


def _reused(texts: tuple[list[str], list[str]]) -> Finding:
    """Whether outputs at one lag agree more often than at others: fresh outputs agree equally often at every lag."""
    alarm = ALARM / 4
    for which, world in zip(("first", "second"), texts, strict=True):
        half = len(world) // 2
        lags = _telling_lags(world[:half])
        if lags is None:
            continue
        (hits, total), (others, of_others) = (_agreeing(world[half:], lag) for lag in lags)
        seen, by_chance = float(at_least(hits, total, alarm)), float(at_most(others, of_others, alarm))
        if seen > by_chance:
            sentence = (
                f"{hits:,} of {total:,} outputs on the {which} input equal the one {lags[0]} calls before, and "
                f"{others:,} of {of_others:,} the one {lags[1]} calls before. Noise is used again, so that the "
                f"difference of two answers with it is exact. {_FRESH}"
            )
            numbers = {"lag": lags[0], "hits": hits, "of": total, "at_least": seen, "by_chance": by_chance}
            return Finding(REUSED, violated=True, sentence=sentence, false_alarm=ALARM, numbers=numbers)
    return Finding(REUSED, violated=False, sentence="Outputs repeat no more than fresh noise does.", false_alarm=ALARM)


def _telling_lags(world: Sequence[str]) -> tuple[int, int] | None:
    """The lag at which most outputs agree, and the one at which fewest do."""
    rates = {
        lag: sum(a == b for a, b in zip(world, world[lag:], strict=False)) / (len(world) - lag)
        for lag in range(1, min(_LAGS, len(world) // 4) + 1)
    }
    if not rates:
        return None
    most, fewest = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    return (most, fewest) if rates[most] > rates[fewest] else None


def _agreeing(world: Sequence[str], lag: int) -> tuple[int, int]:
    """How many pairs at this lag agree, and of how many; no output is in two pairs."""
    starts = range(0, len(world) - 2 * lag + 1, 2 * lag)
    return sum(world[i] == world[i + lag] for start in starts for i in range(start, start + lag)), len(starts) * lag


def _shared(columns: Sequence[Column]) -> Finding:
    """Whether the i-th numbers on both inputs differ by one amount more often than the i-th and the next one do.

    They are independent of each other if noise is fresh, and then both happen equally often.
    """
    alarm = ALARM / 2 / max(1, len(columns))
    for name, first, second in columns:
        half = len(first) // 2
        amount, _ = Counter(_gaps(first[:half], second[:half])).most_common(1)[0]
        if amount is None:
            continue
        one, other = first[half:-1], second[half:]
        hits, others = (sum(gap == amount for gap in _gaps(one, each)) for each in (other[:-1], other[1:]))
        seen, by_chance = float(at_least(hits, len(one), alarm)), float(at_most(others, len(one), alarm))
        if seen > by_chance:
            sentence = (
                f"{name} differs between the i-th calls on both inputs by one and the same amount in {hits:,} of "
                f"{len(one):,}: the same noise is drawn for both, and it distinguishes neighbours. Seed nothing. "
                f"{_FRESH}"
            )
            numbers = {"hits": hits, "of": len(one), "at_least": seen, "by_chance": by_chance}
            return Finding(SHARED, violated=True, sentence=sentence, false_alarm=ALARM, numbers=numbers)
    if not columns:
        return unmeasured(SHARED, "the outputs hold no numbers.")
    return Finding(SHARED, violated=False, sentence="Outputs on the two inputs vary apart.", false_alarm=ALARM)


def _cached(mechanism: Draws, pair: tuple[Any, Any], size: int, claim: Claim | None) -> Finding:
    """Whether two calls in a row agree, when the second is on the same input and when it is on the neighbour.

    The second call of each is on neighbours, and the first one is the same: a claim holds for whether they agree.
    """
    agreed: tuple[list[Hashable], list[Hashable]] = ([], [])
    for _ in range(min(size, 2_000) // 2):
        for cell, second in zip(agreed, pair, strict=True):
            one, other = (text_of(draws(mechanism, data, 1)[0]) for data in (pair[0], second))
            cell.append("equal" if one == other else "different")
    return flagged(
        CACHED,
        distinguish(
            {"whether a call agrees with the one before, on the same input or on its neighbour,": agreed}, claim
        ),
        claim,
        leak="Noise is kept by what the data are, so that asking twice tells whether they changed. Keep a release by "
        "the public question it answers, never by the data.",
        fine="Two calls in a row agree as often on the neighbour as on the same input, as far as is claimed.",
    )
