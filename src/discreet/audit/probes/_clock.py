"""The time of a call: what it tells about the noise, and about the input.

Sources: Jin, McMurtry, Rubinstein and Ohrimenko 2022, "Are we there yet? Timing and floating-point attacks on
differential privacy systems", section 4; Haeberlen, Pierce and Narayan 2011, section 3, for queries.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.audit.black_box._claim import at_least
from discreet.audit.black_box._subject import Draws, numbers_in
from discreet.audit.probes._distinguisher import ALARM
from discreet.audit.probes._finding import Finding, unmeasured
from discreet.noise import uniform64

__all__ = ["TIME_OF_INPUT", "TIME_OF_NOISE", "Clock", "clock", "rank_correlation", "timed"]

TIME_OF_NOISE, TIME_OF_INPUT = "time and noise", "time and input"

_CORRELATED = 0.3
"""A rank correlation that is allowed: magnitudes of more digits take longer, and say little."""

_SLOWER = 0.75
"""The share of pairs of calls in which one input may be slower: the time of a query is not hidden."""

_DEVIATIONS = 6.9
"""Standard deviations of a normal, beyond which lies 6e-12 on both sides together; eight correlations are tested."""

_WARM = 5

_NEXT_NOISE = "Draw noise from tables or by inversion, never by trials that are counted."
_NEXT_INPUT = "Let what is done depend on the public parameters alone, or delay every answer to a public time."

Floats = NDArray[np.float64]


class Clock(Protocol):
    """Nanoseconds since some moment."""

    def __call__(self) -> int: ...


CLOCKS: dict[str, Clock] = {"CPU time": time.thread_time_ns, "time": time.perf_counter_ns}


def clock(mechanism: Draws, pair: tuple[Any, Any], calls: int) -> list[Finding]:
    """Whether times of calls follow the noise, and whether they tell the inputs apart: `calls` on each input."""
    if calls < 100:
        return [unmeasured(each, "it takes 100 calls or more.") for each in (TIME_OF_NOISE, TIME_OF_INPUT)]
    times, outputs = timed(mechanism, pair, calls)
    return [_of_noise(times, outputs), _of_input(times)]


def timed(mechanism: Draws, pair: tuple[Any, Any], calls: int) -> tuple[dict[str, Floats], list[list[Any]]]:
    """The times of single calls by clock, as (input, call), and the outputs; each two calls are in random order."""
    first = (uniform64(calls) & np.uint64(1)).tolist()
    times = {name: np.empty((2, calls)) for name in CLOCKS}
    outputs: list[list[Any]] = [[], []]
    reads = list(CLOCKS.values())
    for data in (*pair, *pair) * _WARM:
        mechanism.draw(data, 1)
    for i in range(calls):
        for which in (first[i], 1 - first[i]):
            start = [read() for read in reads]
            output = mechanism.draw(pair[which], 1)
            end = [read() for read in reads]
            outputs[which].append(output[0])
            for name, begun, ended in zip(CLOCKS, start, end, strict=True):
                times[name][which, i] = ended - begun
    return times, outputs


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's, with mean ranks for ties; 0 where either is constant.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 15.0])), 3)
    0.5
    """
    first, second = _ranks(one), _ranks(other)
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread else 0.0


def _ranks(values: Floats) -> Floats:
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]
    return ranks - ranks.mean()


def _noise(outputs: Sequence[Any]) -> list[Floats]:
    """The sum of the numbers in each output, and of how far they are from their medians; nothing where none vary."""
    total, far = np.zeros(len(outputs)), np.zeros(len(outputs))
    for column in numbers_in(outputs).values():
        numbers = np.array([_float(each) for each in column])
        finite = np.isfinite(numbers)
        if finite.mean() > 0.5:
            centred = np.where(finite, numbers, np.median(numbers[finite])) - np.median(numbers[finite])
            total += centred
            far += np.abs(centred)
    return [total, far] if np.unique(total).size > 1 else []


def _float(value: object) -> float:
    try:
        return float("nan") if value is None else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _of_noise(times: dict[str, Floats], outputs: list[list[Any]]) -> Finding:
    correlations: dict[str, float] = {}
    for which, drawn in enumerate(outputs):
        for noise in _noise(drawn):
            for name, measured in times.items():
                correlations[name] = max(correlations.get(name, 0.0), rank_correlation(measured[which], noise), key=abs)
    if not correlations:
        return unmeasured(TIME_OF_NOISE, "the outputs hold no numbers that vary.")
    calls = len(outputs[0])
    most = max(correlations, key=lambda name: abs(correlations[name]))
    slack = _DEVIATIONS / (calls - 1) ** 0.5
    numbers = {"rank_correlation": correlations, "calls": calls, "bound": _CORRELATED + slack}
    if abs(correlations[most]) > _CORRELATED + slack:
        sentence = (
            f"The {most} of a call has a rank correlation of {correlations[most]:.2f} with the size of its noise: "
        )
        sentence += f"who times a release can take the noise off again. {_NEXT_NOISE}"
        return Finding(TIME_OF_NOISE, violated=True, sentence=sentence, false_alarm=ALARM, numbers=numbers)
    sentence = "The time of a call says little about the size of its noise: a rank correlation of "
    sentence += f"{correlations[most]:.2f}, and up to {_CORRELATED} is allowed."
    return Finding(TIME_OF_NOISE, violated=False, sentence=sentence, false_alarm=ALARM, numbers=numbers)


def _of_input(times: dict[str, Floats]) -> Finding:
    """How often one input is slower in pairs of calls in random order: a fair coin, if it makes no difference."""
    shares: dict[str, list[float]] = {}
    for name, (first, second) in times.items():
        shares[name] = [
            float(at_least(int(wins.sum()), wins.size, ALARM / 4)) for wins in (first > second, second > first)
        ]
    most = max(shares, key=lambda name: max(shares[name]))
    share = max(shares[most])
    medians = {name: [float(np.median(each)) for each in measured] for name, measured in times.items()}
    numbers = {"slower_at_least": shares, "median_nanoseconds": medians, "bound": _SLOWER}
    if share > _SLOWER:
        which = "first" if shares[most][0] > shares[most][1] else "second"
        sentence = f"The {which} input takes more {most} than the other in {share:.0%} of calls or more: a median of "
        sentence += (
            f"{medians[most][0]:,.0f} ns against {medians[most][1]:,.0f} ns. Times tell the inputs apart. {_NEXT_INPUT}"
        )
        return Finding(TIME_OF_INPUT, violated=True, sentence=sentence, false_alarm=ALARM, numbers=numbers)
    sentence = f"Neither input is slower in more than {_SLOWER:.0%} of calls, which is allowed: times are not hidden."
    return Finding(TIME_OF_INPUT, violated=False, sentence=sentence, false_alarm=ALARM, numbers=numbers)
