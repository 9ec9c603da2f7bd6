"""The output distribution of a randomised program, by re-running it with every sequence of draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any

from discreet.audit.enumeration._distribution import (
    BITS,
    ONE,
    Choices,
    Distribution,
    Probability,
    Raised,
    choices,
    key_of,
)
from discreet.errors import ParameterError
from discreet.rational import Number, decimal_text, rational

__all__ = ["Draw", "Program", "enumerate_distribution"]

Draw = Callable[[Mapping[Any, Probability]], Any]
"""``draw(law)`` draws one outcome from a mapping of outcomes to probabilities."""

Program = Callable[[Any, Draw], Any]
"""``program(data, draw)`` takes all its randomness from `draw`."""

_MOST_KEPT = 4096
_SUSPENDED_BITS = 64
_ROUNDING = ONE >> 256


def enumerate_distribution(program: Program, data: Any, mass: Number = 1, *, limit: int = 1_000_000) -> Distribution:
    """The output distribution of ``program(data, draw)``, run for every sequence of draws, the likeliest first.

    Parameters
    ----------
    program
        Takes all its randomness from ``draw(law)``, where `law` maps outcomes to probabilities, as
        `Distribution.from_probabilities` takes them. If the sum is below 1, as for noise that is truncated far out, the
        rest counts as not enumerated. A mapping that is drawn from again must not have changed. An exception is an
        output: the name of its type.
    data
        What the program gets. It must come back unchanged.
    mass
        Stop once outputs of this probability are enumerated. Programs that may draw without end need less than 1.
    limit
        The most runs.

    Costs no privacy: made-up data are meant. Raises `ParameterError` for probabilities that are no distribution, for a
    program that draws otherwise when it is run again with the same draws, and past the limit.

    >>> fair = {True: Fraction(1, 2), False: Fraction(1, 2)}
    >>> def response(truth, draw):
    ...     return truth if draw(fair) else draw(fair)
    >>> outputs = enumerate_distribution(response, True)
    >>> outputs.probability(True), outputs.probability(False), outputs.runs
    ((0.75, 0.75), (0.25, 0.25), 3)
    """
    wanted = rational(mass, "mass")
    if not 0 < wanted <= 1:
        raise ParameterError(f"mass must be above 0 and at most 1, got {decimal_text(wanted)}")
    return _Search(program, data).law(wanted.numerator * ONE // wanted.denominator - _ROUNDING, limit)


@dataclass(frozen=True, slots=True)
class _Step:
    """One draw on the way to a branch: which outcome of which choices, and the probability of all up to it."""

    before: _Step | None
    choices: Choices
    index: int
    low: int
    high: int


class _Halt(BaseException):
    """Ends a run from within `draw`, past any `except Exception` of the program; with an error, ends the search."""

    def __init__(self, error: ParameterError | None = None) -> None:
        self.error = error


@dataclass(slots=True)
class _Search:
    program: Program
    data: Any
    weights: dict[Hashable, tuple[int, int]] = field(default_factory=dict[Hashable, tuple[int, int]])
    pending: list[tuple[int, int, _Step]] = field(default_factory=list[tuple[int, int, _Step]])
    known: dict[int, tuple[Any, Choices]] = field(default_factory=dict[int, tuple[Any, Choices]])
    cut: int = 0
    pushed: int = 0

    def law(self, wanted: int, limit: int) -> Distribution:
        done = runs = 0
        step: _Step | None = None
        while True:
            if runs == limit:
                raise ParameterError(
                    f"after {limit} runs, outputs of probability {decimal_text(Fraction(done, ONE), 4)} are enumerated "
                    f"and more was asked for; ask for less mass, draw from fewer outcomes, raise the limit, or audit "
                    "by samples with check"
                )
            runs += 1
            done += self._run(step)
            if not self.pending:
                return Distribution(self.weights, self.cut, runs)
            if done >= wanted:
                return Distribution(self.weights, ONE - done, runs)
            step = heappop(self.pending)[2]
            self.push_sibling(step)

    def push(self, step: _Step) -> None:
        self.pushed += 1
        heappush(self.pending, (-step.high, self.pushed, step))

    def push_sibling(self, step: _Step) -> None:
        if step.index + 1 < len(step.choices.outcomes):
            self.push(_taken(step.before, step.choices, step.index + 1))

    def _run(self, start: _Step | None) -> int:
        """Run along the draws that are given and on along the likeliest ones; the probability enumerated by it."""
        path: list[_Step] = []
        step = start
        while step is not None:
            path.append(step)
            step = step.before
        path.reverse()
        run = _Run(self, path, ONE if start is None else start.high)
        try:
            key = key_of(self.program(self.data, run.draw))
        except _Halt as halt:
            if halt.error is not None:
                raise halt.error from None
            return 0
        except Exception as error:  # noqa: BLE001 (what it raises is what an observer sees)
            key = Raised(type(error).__name__)
        if run.place < len(path):
            raise ParameterError(_CHANGED)
        low, high = (ONE, ONE) if run.last is None else (run.last.low, run.last.high)
        least, most = self.weights.get(key, (0, 0))
        self.weights[key] = least + low, most + high
        return low

    def choices_of(self, law: Any) -> Choices:
        cached = self.known.get(id(law))
        if cached is None:
            if len(self.known) >= _MOST_KEPT:
                self.known.clear()
            cached = self.known[id(law)] = law, choices(law)
        return cached[1]


_CHANGED = (
    "the program did not repeat itself when it was run again with the same draws; take all randomness from draw, and "
    "keep nothing from one run to the next"
)


def _taken(before: _Step | None, prepared: Choices, index: int) -> _Step:
    low, high = (ONE, ONE) if before is None else (before.low, before.high)
    return _Step(before, prepared, index, low * prepared.lows[index] >> BITS, -(-high * prepared.highs[index] >> BITS))


class _Run:
    __slots__ = ("_floor", "_path", "_search", "last", "place")

    def __init__(self, search: _Search, path: list[_Step], start: int) -> None:
        self._search, self._path, self._floor = search, path, start >> _SUSPENDED_BITS
        self.place, self.last = 0, path[-1] if path else None

    def draw(self, law: Mapping[Any, Probability]) -> Any:
        """The outcome that the path says; past its end the likeliest one, and the others are left for later runs."""
        search, path, place = self._search, self._path, self.place
        try:
            prepared = search.choices_of(law)
        except ParameterError as error:
            raise _Halt(error) from None
        self.place += 1
        if place < len(path):
            step = path[place]
            if step.choices is not prepared and step.choices != prepared:
                raise _Halt(ParameterError(_CHANGED))
            return step.choices.outcomes[step.index]
        high = ONE if self.last is None else self.last.high
        search.cut += -(-high * prepared.cut >> BITS)
        self.last = step = _taken(self.last, prepared, 0)
        path.append(step)
        if step.high < self._floor:
            search.push(step)
            raise _Halt
        search.push_sibling(step)
        return prepared.outcomes[0]
