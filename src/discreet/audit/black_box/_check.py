"""Black-box audit: draw outputs on neighbouring inputs, learn what distinguishes them, certify it on fresh ones."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.audit.black_box._claim import (
    Claim,
    at_least,
    at_most,
    claim_of,
    doubt_of,
    epsilon_shown,
    mu_shown,
    rho_shown,
    rho_shown_by_cells,
)
from discreet.audit.black_box._events import Aim, Event, learn
from discreet.audit.black_box._subject import Draws, subject
from discreet.audit.black_box._verdict import Trial, Verdict, Witness
from discreet.errors import ParameterError
from discreet.privacy import Loss, RhoLoss
from discreet.rational import Number

__all__ = ["check"]

_MOST_PAIRS = 1_000
_IN_FINAL = 2
_IN_BETWEEN = 4
_FIRST_ROUND = 1_000
_ENOUGH_TO_LEARN = 200_000
_CHUNK = 1 << 15
_FOR_CURVE, _FOR_CELLS = 0.1, 0.5

Pair = tuple[Any, Any]

_Alarms = tuple[float, float, float]
"""The error probability of each one-sided bound: on an event, on one of its other cuts, on a cell between cuts."""


def check(  # noqa: PLR0913 (all but the first three by keyword)
    mechanism: Any,
    pairs: Iterable[Pair],
    claim: Loss,
    *,
    samples: int = 100_000,
    confidence: Number = 0.95,
    delta: Number | None = None,
    sequential: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Verdict:
    """Test a claim on outputs alone: certified lower bounds on what the mechanism loses.

    The most promising pairs, and the events that tell their inputs apart, are learned on one part of the outputs. The
    probabilities of those events are then bounded on fresh outputs, exactly (Clopper and Pearson 1934), with the error
    probability split among all tests. So for every mechanism that keeps its claim, the verdict says ``violated`` with
    probability at most 1 − confidence. Costs no privacy: run it on made-up data, never on real ones.

    Parameters
    ----------
    mechanism
        A function of the data; an object with ``release(data)``; or one with ``draw(data, size)``, see `batched`. An
        output may be a number, a text, None, an error that is raised, or any list, mapping, array or table of these.
        Outputs must be independent of one another.
    pairs
        Neighbouring inputs: pairs (data0, data1), at most 1,000 of them are taken. See `answer_patterns`
        and `record_patterns`.
    claim
        The loss that is claimed, for these neighbours.
    samples
        How many outputs to draw, over all inputs; at least 100 for each input.
    confidence
        1 − the probability of a false alarm.
    delta
        The δ at which ε is stated. Left out, it is the δ of the claim, or 1e-6 for losses that have no ε at 0.
    sequential
        Whether to stop as soon as the claim is refuted. The error probability is then split among rounds of growing
        size.
    progress
        Called now and then with the number of outputs drawn so far, and of all to be drawn.

    Raises `ParameterError` for a claim that is not a loss, for too few samples, for anything but pairs, and for a
    mechanism that changes its input.
    Source: Jagielski, Ullman and Oprea 2020, section 4; Bichsel, Steffen, Bogunovic and Vechev 2021 (learned events).

    >>> from discreet.audit import batched
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import pure
    >>> half = batched(lambda count, size: DiscreteLaplace("1/2").release([count] * size))
    >>> verdict = check(half, [(0, 1)], claim=pure(1), samples=10_000)
    >>> verdict.violated, 1 < verdict.epsilon_lower < 2
    (True, True)
    """
    asked = claim_of(claim, delta)
    audit = _Audit(subject(mechanism), asked, checked(pairs), _aims(asked))
    doubt = doubt_of(confidence)
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"samples must be a whole number, got {samples!r}")
    before = _pickled(audit.pools)
    audit.run(_rounds(int(samples), len(audit.pools), sequential=sequential), doubt, progress)
    if before is not None and _pickled(audit.pools) != before:
        raise ParameterError(
            "the mechanism changed its input in place, so later outputs were of other data; let it work on a copy"
        )
    return audit.verdict(1 - doubt)


def _pickled(pools: Sequence[_Pool]) -> bytes | None:
    """The pickled inputs, to see whether the mechanism changes them; `None` if they cannot be pickled."""
    try:
        return pickle.dumps([pool.pair for pool in pools])
    except Exception:  # noqa: BLE001 (an object may raise anything when it cannot be pickled)
        return None


@dataclass(frozen=True, slots=True)
class _Round:
    """How many outputs to draw, over all inputs that take part; whether to test; how many pairs may take part."""

    size: int
    tests: bool
    pairs: int


@dataclass(slots=True)
class _Pool:
    """A pair, the outputs drawn for it, and the events learned from them, one for each aim."""

    place: int
    pair: Pair
    drawn: tuple[list[Sequence[Any]], list[Sequence[Any]]] = field(default_factory=lambda: ([], []))
    events: list[Event] = field(default_factory=list[Event])

    def learn(self, aims: Sequence[Aim]) -> None:
        one, other = ([each for part in parts for each in part] for parts in self.drawn)
        self.events = learn(one, other, aims)


def _rounds(samples: int, pairs: int, *, sequential: bool) -> list[_Round]:
    if samples < 200 * pairs:
        raise ParameterError(
            f"samples must be at least 100 for each of the {2 * pairs} inputs, {200 * pairs:,}, got {samples:,}"
        )
    if sequential:
        first = min(max(_FIRST_ROUND, 200 * pairs), samples // 2)
        rounds, left, size = [_Round(first, tests=False, pairs=pairs)], samples - first, first
        while left:
            now = left if left < 3 * size else size
            rounds.append(_Round(now, tests=True, pairs=_IN_FINAL))
            left, size = left - now, 2 * size
        return rounds
    if pairs == 1:
        first = min(samples // 4, _ENOUGH_TO_LEARN)
        return [_Round(first, tests=False, pairs=1), _Round(samples - first, tests=True, pairs=1)]
    first = max(min(samples // 10, _ENOUGH_TO_LEARN), 100 * pairs)
    second = min(samples // 8, _ENOUGH_TO_LEARN)
    return [
        _Round(first, tests=False, pairs=pairs),
        _Round(second, tests=False, pairs=_IN_BETWEEN),
        _Round(samples - first - second, tests=True, pairs=1),
    ]


class _Audit:
    """The state of one `check`."""

    def __init__(self, draws: Draws, claim: Claim, pairs: Sequence[Pair], aims: Sequence[Aim]) -> None:
        self.draws, self.claim, self.aims = draws, claim, aims
        self.pools = [_Pool(place, pair) for place, pair in enumerate(pairs)]
        self.witnesses: list[Witness] = []
        self.curve: tuple[Trial, ...] = ()
        self.rho = 0.0
        self.samples = 0
        self.errors: set[str] | None = set()

    def run(self, rounds: Sequence[_Round], doubt: float, progress: Callable[[int, int], object] | None) -> None:
        total, tests = sum(each.size for each in rounds), sum(each.tests for each in rounds)
        for number, each in enumerate(rounds):
            last = number == len(rounds) - 1
            taking_part = self._best(each.pairs)
            sizes = _shared(each.size, 2 * len(taking_part))
            events = [event for pool in taking_part for event in pool.events]
            alarms = _alarms(doubt / tests, events, cells=self.claim.is_rho)
            for pool in taking_part:
                keep = not last and sum(map(len, pool.drawn[0])) < _ENOUGH_TO_LEARN
                self._take(pool, (next(sizes), next(sizes)), alarms if each.tests else None, keep=keep)
                if progress is not None:
                    progress(self.samples, total)
            if self._refuted:
                return
            if not last:
                for pool in taking_part:
                    pool.learn(self.aims)

    @property
    def _refuted(self) -> bool:
        stated = self.claim.stated
        if isinstance(stated, RhoLoss) and self.rho > stated.rho_value:
            return True
        return any(self.claim.refuted_by(each.likelier, each.rarer) for each in self._trials)

    @property
    def _trials(self) -> tuple[Trial, ...]:
        return (*(seen.trial for seen in self.witnesses), *self.curve)

    def _best(self, count: int) -> list[_Pool]:
        def promise(pool: _Pool) -> tuple[float, ...]:
            return tuple(event.promise for event in reversed(pool.events))

        return sorted(self.pools, key=promise, reverse=True)[:count]

    def _take(self, pool: _Pool, sizes: tuple[int, int], alarms: _Alarms | None, *, keep: bool) -> None:
        """Draw outputs; with `alarms`, bound the probabilities of the events; with `keep`, keep the outputs."""
        hits = [np.zeros((2, 1 + len(event.others)), dtype=np.int64) for event in pool.events]
        for world, size in enumerate(sizes):
            for chunk in _shared(size, math.ceil(size / _CHUNK)):
                outputs = self.draws.draw(pool.pair[world], chunk)
                _check_outputs(outputs, chunk)
                self._note_errors(outputs)
                if keep:
                    pool.drawn[world].append(outputs)
                if alarms is not None:
                    read = {reader: reader.read(outputs) for reader in {event.reader for event in pool.events}}
                    for event, counted in zip(pool.events, hits, strict=True):
                        counted[world] += event.hits(read[event.reader])
        self.samples += sum(sizes)
        for event, counted in zip(pool.events, hits, strict=True):
            if alarms is not None:
                trials = _trials(event, counted, sizes, alarms)
                seen = int(counted[0, 0]), int(counted[1, 0])
                self.witnesses.append(
                    Witness(event.text, pool.place, pool.pair, event.on_second, seen, sizes, trials[0])
                )
                self.curve += trials[1:]
                if alarms[2]:
                    self.rho = max(self.rho, _rho_of_cells(event, counted, sizes, alarms[2]))

    def _note_errors(self, outputs: Sequence[Any]) -> None:
        if self.errors is None or isinstance(outputs, np.ndarray):
            self.errors = None
            return
        for output in outputs:
            if not isinstance(output, Exception):
                self.errors = None
                return
            self.errors.add(f"{type(output).__name__}: {output}")

    def verdict(self, confidence: float) -> Verdict:
        claim = self.claim
        trials = self._trials

        def shown(seen: Witness) -> tuple[bool, float, float]:
            p, q = seen.trial.likelier, seen.trial.rarer
            delta = float(claim.delta_shown(*_sides(seen.trial)))
            return claim.refuted_by(p, q), float(epsilon_shown(p, q, claim.delta)), delta

        best = max(self.witnesses, key=shown, default=None)
        strength = (False, 0.0, 0.0) if best is None else shown(best)
        note = None
        if self.errors:
            note = f"Every output was an error, such as {min(self.errors)[:200]!r}: is that what you meant to audit?"
        return Verdict(
            claim=claim.loss,
            delta=claim.delta,
            claimed=claim.epsilon,
            epsilon_lower=max((float(epsilon_shown(*_sides(each), claim.delta)) for each in trials), default=0.0),
            delta_lower=max((float(claim.delta_shown(*_sides(each))) for each in trials), default=0.0),
            rho_lower=max([self.rho, *(float(rho_shown(each.likelier, each.rarer, claim.beside)) for each in trials)]),
            mu_lower=max((float(mu_shown(each.likelier, each.rarer, claim.beside)) for each in trials), default=0.0),
            trials=trials,
            violated=self._refuted,
            witness=best if any(strength) else None,
            samples=self.samples,
            confidence=confidence,
            note=note,
        )


def checked(pairs: Iterable[Pair]) -> list[Pair]:
    """At most 1,000 pairs. Raises `ParameterError` if there is none, or if something in the list is not a pair."""
    chosen = list(islice(pairs, _MOST_PAIRS)) if isinstance(pairs, Iterable) else []  # pyright: ignore[reportUnnecessaryIsInstance]
    if not chosen or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in chosen):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("pairs must be a list of at least one pair (data0, data1) of neighbouring inputs")
    return chosen


def _aims(claim: Claim) -> list[Aim]:
    """The criteria that rank events: the ε that they show at δ, and whatever else the claim limits."""

    def epsilon(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        return epsilon_shown(p, q, claim.delta)

    return [epsilon] if claim.is_pure else [epsilon, claim.excess]


def _shared(size: int, parts: int) -> Iterator[int]:
    """The size split into `parts` that differ by at most one."""
    return (size // parts + (place < size % parts) for place in range(parts))


def _check_outputs(outputs: Any, wanted: int) -> None:
    if not isinstance(outputs, list | tuple | np.ndarray) or (isinstance(outputs, np.ndarray) and not outputs.ndim):
        raise ParameterError(
            f"draw(data, size) must return a list or an array with an output for each, got {type(outputs).__name__}"
        )
    count = len(cast("list[Any]", outputs))
    if count != wanted:
        raise ParameterError(f"draw(data, {wanted}) returned {count} outputs; it must return {wanted}")


def _sides(trial: Trial) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(trial.likelier), np.asarray(trial.rarer)


def _alarms(doubt: float, events: Sequence[Event], *, cells: bool) -> _Alarms:
    """Error probabilities of the bounds, which sum to at most `doubt`."""
    others = sum(len(event.others) for event in events)
    for_cells = _FOR_CELLS if cells else 0.0
    return (
        doubt * (1 - _FOR_CURVE - for_cells) / (2 * max(len(events), 1)),
        doubt * _FOR_CURVE / (2 * max(others, 1)),
        doubt * for_cells / (2 * max(others + 2 * len(events), 1)),
    )


def _rho_of_cells(event: Event, hits: NDArray[np.int64], sizes: tuple[int, int], alarm: float) -> float:
    """The ρ that the cells between consecutive cuts show together."""
    order = np.argsort((event.cut, *event.others))
    cells = np.diff(np.column_stack([np.zeros(2, dtype=np.int64), hits[:, order], sizes]), axis=1)
    likelier, rarer = (1, 0) if event.on_second else (0, 1)
    return rho_shown_by_cells(
        at_least(cells[likelier], sizes[likelier], alarm), at_most(cells[rarer], sizes[rarer], alarm)
    )


def _trials(event: Event, hits: NDArray[np.int64], sizes: tuple[int, int], alarms: _Alarms) -> tuple[Trial, ...]:
    """The bounds on the event, and on its other cuts."""
    likelier, rarer = (1, 0) if event.on_second else (0, 1)
    alarm = [alarms[0]] + [alarms[1]] * len(event.others)
    return tuple(
        Trial(float(at_least(p, sizes[likelier], each)), float(at_most(q, sizes[rarer], each)))
        for p, q, each in zip(hits[likelier].tolist(), hits[rarer].tolist(), alarm, strict=True)
    )
