"""Mistakes in streams: the broken sparse vectors of Lyu, Su and Li 2017, and counters that charge too little."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.mechanisms import AboveThreshold, ToeplitzCounter, TreeCounter
from discreet.mechanisms.streams import _tree_counter as tree_counter
from discreet.mechanisms.streams._toeplitz_counter import ToeplitzFactor, factor_for
from discreet.mechanisms.thresholds import _above_threshold as threshold_stream
from discreet.mechanisms.thresholds._above_threshold import ThresholdStream
from discreet.noise import discrete_laplace
from discreet.privacy import mu, pure
from mutants._laws import below, epsilon_between, gaussian_epsilon, two_sided
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_REACH = 200
_query_scale, _calibrate_tree = AboveThreshold.query_scale.fget, TreeCounter.calibrate


def _padded(search: AboveThreshold):
    """What a stream tells, as numbers, and −1 for what came after its end."""

    def release(answers: list[int]) -> list[int]:
        told = search.release(answers)
        return [int(each) for each in told] + [-1] * (len(answers) - len(told))

    return release


def _first(search: AboveThreshold):
    """Which answer was the first above."""
    return lambda answers: len(told := search.release(answers)) - bool(told[-1])


def _law(answers: list[int], threshold: np.ndarray, scale: float, cutoff: int) -> dict:
    """Of what is told, where P(ρ) = threshold for ρ from −_REACH on, and queries have noise of this scale."""
    law, rho = {}, np.arange(-_REACH, _REACH + 1)

    def go(told: tuple[int, ...], left: int, chance: np.ndarray) -> None:
        if len(told) == len(answers) or not left:
            law[told] = float(chance.sum())
            return
        missed = below(rho + 1 - answers[len(told)], scale)
        go((*told, 0), left, chance * missed)
        go((*told, 1), left - 1, chance * (1 - missed))

    go((), cutoff, threshold)
    return law


_EIGHT = ([0] * 8 + [1] * 8, [1] * 8 + [0] * 8)


def _unscaled_epsilon() -> float:
    """ε = 2 and eight answers above: noise 1 on the threshold at 1 and 2 on all the queries."""
    return epsilon_between(*(_law(answers, two_sided(1.0, _REACH), 2.0, 8) for answers in _EIGHT))


def _without_end_epsilon() -> float:
    """The likelihood of i above among the 0s and j among the 1s, at noise 1 on the threshold at 1 and 2 on queries."""
    threshold, rho = two_sided(1.0, _REACH), np.arange(-_REACH, _REACH + 1)
    missed, hit = [below(rho + 1 - answer, 2.0) for answer in (0, 1)], [below(answer - rho, 2.0) for answer in (0, 1)]

    def chance(of_zeros: int, of_ones: int) -> float:
        zeros = hit[0] ** of_zeros * missed[0] ** (8 - of_zeros)
        return float((threshold * zeros * hit[1] ** of_ones * missed[1] ** (8 - of_ones)).sum())

    return max(math.log(chance(i, j) / chance(j, i)) for i in range(9) for j in range(9))


def _bare_epsilon() -> float:
    """ε = 3 and seven answers, each held against the threshold of 1 itself with noise 4/3."""
    threshold = np.zeros(2 * _REACH + 1)
    threshold[_REACH] = 1.0
    return epsilon_between(*(_law([answer] * 7, threshold, 4 / 3, 1) for answer in (0, 1)))


def _same_noise_epsilon() -> float:
    """ε = 3, all noise of scale 2/3: the first above, of nine, and its value, which bounds the threshold."""

    def law(answer: int) -> dict:
        chance, rho, found = two_sided(2 / 3, _REACH), np.arange(-_REACH, _REACH + 1), {}
        noise = two_sided(2 / 3, _REACH)
        for i in range(9):
            for value in range(-60, 61):
                found[i, value] = float(chance[rho + 1 <= value].sum() * noise[value - answer + _REACH])
            chance = chance * below(rho + 1 - answer, 2 / 3)
        return found

    one, other = law(0), law(1)
    return max(abs(math.log(one[key] / other[key])) for key in one if min(one[key], other[key]) > 1e-200)


class _LastDraw:
    """Keeps the noise that was drawn last."""

    noise = 0

    def __call__(self, scale, size: int) -> np.ndarray:
        drawn = discrete_laplace(scale, size)
        self.noise = int(drawn[-1])
        return drawn


_LAST = _LastDraw()


def _value_with_it(self, answer: int, *, above: bool) -> int | None:
    return answer + _LAST.noise if above else None


def _first_with_value() -> object:
    search = AboveThreshold.calibrate(pure(3), 1, threshold=1, monotone=True, numeric=True)

    def release(answers: list[int]) -> tuple[int, int | None]:
        stream = search.start()
        for i, answer in enumerate(answers):
            if (told := stream.ask(answer)) is not None:
                return i, told
        return len(answers), None

    return release


def _no_end(self) -> ThresholdStream:
    return ThresholdStream(
        self.threshold,
        10**9,
        threshold_scale=self.threshold_scale,
        query_scale=self.query_scale,
        value_scale=self.value_scale,
    )


def _none_on(scale: int):
    """No noise of this scale."""
    return lambda of, size: np.zeros(size, dtype=np.int64) if of == scale else discrete_laplace(of, size)


def _one_level_short(cls, spend, sensitivity, *, steps: int, arity=None) -> TreeCounter:
    made = _calibrate_tree(spend, sensitivity, steps=steps, arity=arity)
    return cls(steps, made.scale * Fraction(made.height - 1, made.height), made.arity)


def _how_many_below_one() -> object:
    """Of the estimates; where their noise is independent, this is as likely as their noise on either input."""
    counter = TreeCounter.calibrate(pure(1), 1, steps=128, arity=2)
    return lambda increments: sum(estimate <= 0 for estimate in counter.release(increments))


_MOVE = 1024


def _column(steps: int) -> np.ndarray:
    """The first column 1, c₁, c₂, … of the factor, entry by entry."""
    factor = factor_for(steps)
    pairs = [(w / 2**64, decay / 2**64) for w, decay in zip(factor.weights, factor.decays, strict=True)]
    return np.array([1.0] + [sum(w * decay**j for w, decay in pairs) for j in range(steps - 1)])


def _likelihood_of_first() -> object:
    """With C applied to the increments of estimates, their noise is independent again: its part along C's column."""
    counter, column = ToeplitzCounter.calibrate(mu(1), _MOVE, steps=64), _column(64)
    weights = np.array([column[: 64 - t] @ column[t:] for t in range(64)])
    return lambda increments: float(weights @ np.diff(counter.release(increments), prepend=0))


MUTANTS = (
    Mutant(
        "sparse vector, query noise not scaled by c",
        "The noise of a query is that for one answer above, and eight are told (Lyu, Su and Li 2017, Algorithm 4).",
        patched((AboveThreshold, "query_scale", property(lambda self: _query_scale(self) / self.cutoff))),
        lambda: _padded(AboveThreshold.calibrate(pure(2), 1, threshold=1, cutoff=8)),
        _EIGHT,
        pure(2),
        _unscaled_epsilon,
        samples=30_000,
        slow=True,
    ),
    Mutant(
        "sparse vector that does not stop",
        "The stream goes on after the answer above that it is paid for (Lyu, Su and Li 2017, Algorithm 6).",
        patched((AboveThreshold, "start", _no_end)),
        lambda: _padded(AboveThreshold.calibrate(pure(2), 1, threshold=1)),
        _EIGHT,
        pure(2),
        _without_end_epsilon,
        samples=36_000,
        slow=True,
    ),
    Mutant(
        "sparse vector without query noise",
        "Only the threshold is noisy, so that one answer above and one below bracket it (Algorithm 5).",
        patched((threshold_stream, "discrete_laplace", _none_on(4))),
        lambda: _padded(AboveThreshold.calibrate(pure(1), 1, threshold=0)),
        ([0, 1], [1, 0]),
        pure(1),
        math.inf,
        samples=5_000,
    ),
    Mutant(
        "sparse vector without threshold noise",
        "The threshold is taken for public, and every answer below it then costs.",
        patched((threshold_stream, "discrete_laplace", _none_on(Fraction(2, 3)))),
        lambda: _first(AboveThreshold.calibrate(pure(3), 1, threshold=1)),
        ([0] * 7, [1] * 7),
        pure(3),
        _bare_epsilon,
        samples=50_000,
        slow=True,
    ),
    Mutant(
        "sparse vector that tells the value it compared",
        "The value above is told with the noise of its comparison, so that it bounds the threshold (Algorithm 3).",
        patched((threshold_stream, "discrete_laplace", _LAST), (ThresholdStream, "_result", _value_with_it)),
        _first_with_value,
        ([0] * 9, [1] * 9),
        pure(3),
        _same_noise_epsilon,
        samples=36_000,
        slow=True,
    ),
    Mutant(
        "tree with noise on each estimate alone",
        "Each of 128 prefix sums has noise of its own, charged as the 8 nodes of a tree that it stands for.",
        patched((tree_counter, "_prefix_noise", lambda arity, height, draws: draws)),
        _how_many_below_one,
        ([0] * 128, [1] + [0] * 127),
        pure(1),
        128 / 8,
        samples=12_000,
        slow=True,
    ),
    Mutant(
        "tree charged one level short",
        "The root, or the leaves, are left out when the nodes of an increment are counted.",
        patched((TreeCounter, "calibrate", classmethod(_one_level_short))),
        lambda: TreeCounter.calibrate(pure(1), 1, steps=3, arity=2).release,
        ([0, 0, 0], [1, 0, 0]),
        pure(1),
        2.0,
        samples=30_000,
    ),
    Mutant(
        "one entry of a column for all of it",
        "An increment is in every later row of the factor, and is charged for its own alone.",
        patched((ToeplitzFactor, "norm", lambda self, steps: Fraction(1))),
        _likelihood_of_first,
        ([0] * 64, [_MOVE] + [0] * 63),
        mu(1),
        lambda: gaussian_epsilon(float(np.linalg.norm(_column(64))), 1e-6),
        samples=8_000,
        slow=True,
    ),
)
