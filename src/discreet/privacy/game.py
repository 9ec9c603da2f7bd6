"""The adaptive composition game (Dwork and Roth 2014, Definition 3.7), played by an adversary against mechanisms.

In every round the adversary picks two neighbours and a mechanism, knowing all earlier outcomes; in world b the
mechanism runs on neighbour b. All outcomes together are its view. A composition is (ε, δ)-DP if the views of the
two worlds are, for every adversary; so a view whose ε exceeds a claim refutes the claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.errors import ParameterError
from discreet.privacy.theorems import approximate_max_divergence

__all__ = ["Adversary", "Round", "Transcript", "Views", "empirical_delta", "play", "views"]

Transcript = tuple[Hashable, ...]
"""All outcomes so far."""


@dataclass(frozen=True, slots=True)
class Round:
    """What the adversary asks next: a mechanism, given as the probabilities of its outcomes, and two neighbours."""

    mechanism: Callable[[object], Mapping[Hashable, float]]
    x0: object
    x1: object


class Adversary(Protocol):
    """Picks the next round from earlier outcomes; `None` ends the game."""

    def choose(self, transcript: Transcript) -> Round | None:
        """The next round, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Views:
    """The probabilities of every transcript in world 0 and in world 1."""

    outcomes: tuple[Transcript, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]

    def epsilon(self, delta: float = 0) -> float:
        """The ε of the adversary's best strategy at δ, over both orders of the worlds; never below 0."""
        pairs = ((self.p, self.q), (self.q, self.p))
        return max(0.0, *(approximate_max_divergence(first, second, delta) for first, second in pairs))

    def delta(self, epsilon: float) -> float:
        """The δ of the adversary's best strategy at ε, over both orders of the worlds."""
        sides = (zip(self.p, self.q, strict=True), zip(self.q, self.p, strict=True))
        return max(math.fsum(max(a - _grown(b, epsilon), 0.0) for a, b in side) for side in sides)


def views(adversary: Adversary, rounds: int) -> Views:
    """Play all branches: the exact views after at most `rounds` rounds of mechanisms with finitely many outcomes.

    Raises `ParameterError` if a mechanism's probabilities do not sum to 1.

    >>> class Curious:
    ...     def choose(self, transcript):
    ...         return Round(lambda x: {x: 0.75, 1 - x: 0.25}, 0, 1)
    >>> both = views(Curious(), 2)
    >>> round(both.epsilon(), 6) == round(2 * math.log(3), 6)
    True
    """
    branches = list(_branches(adversary, rounds, (), 1.0, 1.0))
    outcomes, p, q = zip(*branches, strict=True)
    return Views(outcomes, p, q)


def _branches(
    adversary: Adversary, rounds: int, past: Transcript, p: float, q: float
) -> Iterator[tuple[Transcript, float, float]]:
    move = adversary.choose(past) if rounds > 0 else None
    if move is None:
        yield past, p, q
        return
    worlds = _distribution(move, move.x0), _distribution(move, move.x1)
    for outcome in {**worlds[0], **worlds[1]}:
        first, second = p * worlds[0].get(outcome, 0.0), q * worlds[1].get(outcome, 0.0)
        if first or second:
            yield from _branches(adversary, rounds - 1, (*past, outcome), first, second)


def play(
    adversary: Adversary, world: Literal[0, 1], rounds: int, draw: Callable[[Mapping[Hashable, float]], Hashable]
) -> Transcript:
    """One game in one world; `draw` picks an outcome, or runs the mechanism itself if its distribution is unknown.

    The caller provides the randomness: this package has none.
    """
    past: Transcript = ()
    for _ in range(rounds):
        move = adversary.choose(past)
        if move is None:
            break
        past = (*past, draw(move.mechanism(move.x1 if world else move.x0)))
    return past


def empirical_delta(
    first: Sequence[Hashable], second: Sequence[Hashable], epsilon: float, *, false_alarm: float = 1e-9
) -> float:
    """A lower bound on δ at ε from games played in the two worlds, wrong with probability at most `false_alarm`.

    The event is chosen on the first half of the games and counted in the other half, with exact binomial limits
    (Clopper and Pearson 1934). Above the claimed δ it refutes the claim. Raises `ParameterError` below 4 games.

    >>> empirical_delta(["a"] * 1000, ["b"] * 1000, 1.0) > 0.8
    True
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    half_first, half_second = len(first) // 2, len(second) // 2
    if min(half_first, half_second) < 2:
        raise ParameterError("empirical_delta needs 4 games or more in each world")
    seen, other = Counter(first[:half_first]), Counter(second[:half_second])
    event = {
        outcome for outcome, count in seen.items() if count * half_second > _grown(other[outcome] * half_first, epsilon)
    }
    hits, trials = sum(each in event for each in first[half_first:]), len(first) - half_first
    misses, others = sum(each in event for each in second[half_second:]), len(second) - half_second
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, false_alarm / 2))
    high = 1.0 if misses == others else float(betaincinv(misses + 1, others - misses, 1 - false_alarm / 2))
    return max(0.0, low - _grown(high, epsilon))


def _grown(mass: float, epsilon: float) -> float:
    """e^ε times a number, ``inf`` where that passes the floats."""
    if mass == 0:
        return 0.0
    return math.exp(epsilon) * mass if epsilon < 700 else math.exp(min(epsilon + math.log(mass), 709.0))


def _distribution(move: Round, x: object) -> Mapping[Hashable, float]:
    masses = move.mechanism(x)
    if not masses or abs(math.fsum(masses.values()) - 1) > 1e-9 or min(masses.values()) < 0:
        raise ParameterError("a mechanism must give probabilities of its outcomes that sum to 1")
    return masses
