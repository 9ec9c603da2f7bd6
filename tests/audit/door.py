"""The door to randomness, replaced by the enumerator: the real code of a mechanism, its samplers drawn from their laws.

For tests alone: nothing in `src` can switch randomness off. Within `opened`, every function of `discreet.noise`, under
whatever name a module of discreet (or of the tests) imported it, asks `draw` with the law that ``proofs/noise.md``
states for it, and returns what the sampler would: the same types and shapes. What is enumerated is the mechanism, not
the sampler, which `tests/noise` holds to its law.

    law = real_law(lambda: DiscreteLaplace(1).release(0))
    verdict = real_verdict(DiscreteLaplace(1).release, [(0, 1)], claim=pure(1))
    epsilon = exact_epsilon(DiscreteLaplace(1).release, (0, 1), delta=0)

Samplers of vectors make one draw per entry. Two loops of the mechanisms draw ahead of need, which would multiply the
branches: counters take noise 1024 at a time, here one at a time, and the exponential mechanism 64 proposals, here one.
Words of `uniform64` have 2**64 values and are drawn only from `words`, see `opened`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import discreet.noise as noise
from discreet.audit.enumeration._distribution import Distribution
from discreet.audit.enumeration._enumeration import Draw, enumerate_distribution
from discreet.audit.enumeration._exact import ExactVerdict, exact
from discreet.audit.enumeration._loss import Side
from discreet.privacy import Loss
from discreet.rational import rational

sys.path.insert(0, str(Path(__file__).parent))
from sampler_laws import (
    NotEnumerable,
    Weights,
    coin,
    coin_exp,
    gaussian,
    laplace,
    laplace_around,
    laplace_log_normal_around,
    normal,
    orders,
    pareto_around,
    stairs,
    student_around,
    uniform,
    uniform_log_normal_around,
    window,
)

TESTS = Path(__file__).parents[1]

TAIL = Fraction(1, 10**30)
"""Unbounded noise is cut where this much of its mass, at most, is left out; it counts as not enumerated."""

MASS = 1 - Fraction(1, 10**12)
"""How much of the law of a mechanism is enumerated, if not told otherwise."""


class _Through(BaseException):
    def __init__(self, error: Exception) -> None:
        self.error = error


def real_law(release: Callable[[], Any], mass: Any = MASS, **options: Any) -> Distribution:
    """The law of what `release()` returns, with every draw from `discreet.noise` enumerated.

    `release` is called once for each branch and must keep nothing between calls. What it raises comes through; with
    ``raises=True`` it is an output. Other `options` are those of `opened`, and `limit`, the most branches.
    """
    limit, raises = options.pop("limit", 1_000_000), options.pop("raises", False)
    with opened(**options) as aim:

        def program(_: None, draw: Draw) -> Any:
            aim(draw)
            try:
                return release()
            except NotEnumerable as error:
                raise _Through(error) from None
            except Exception as error:
                if raises:
                    raise
                raise _Through(error) from error

        try:
            return enumerate_distribution(program, None, mass, limit=limit)
        except _Through as through:
            raise through.error from None


def real_verdict(
    release: Callable[[Any], Any], pairs: Sequence[tuple[Any, Any]], claim: Loss, *, delta: Any = None, **options: Any
) -> ExactVerdict:
    """`dp.audit.exact` of the real `release(data)`; `options` are those of `real_law`, and `spare` of `exact`."""
    spare = options.pop("spare", Fraction(1, 10**9))
    return exact(lambda data: real_law(lambda: release(data), **options), pairs, claim, delta=delta, spare=spare)


def exact_epsilon(release: Callable[[Any], Any], pair: tuple[Any, Any], delta: Any = 0, **options: Any) -> float:
    """The true ε of ``release(data)`` on a pair of data, both ways, at this δ: certified from below.

    It is short of the truth by little more than the mass that is not enumerated, 1e-12 by default.
    """
    one, other = (real_law(lambda data=data: release(data), **options) for data in pair)
    return max(Side(*laws).epsilon_low(rational(delta, "delta"))[0] for laws in ((one, other), (other, one)))


@contextmanager
def opened(
    *,
    tail: Fraction = TAIL,
    words: Weights | None = None,
    also: Mapping[str, Any] | None = None,
) -> Iterator[Callable[[Draw], None]]:
    """Replace the samplers; yields a function that takes the `draw` that they ask.

    tail: how much of the mass of unbounded noise is cut, at most.
    words: the law that `uniform64` draws from. `between` makes one for code that only compares words.
    also: more to replace, ``"module.name"``: value. A value `Stand` is called with the samplers and `draw`.
    """
    samplers = _Samplers(tail, words)
    replaced = {getattr(noise, name): getattr(samplers, name) for name in _NAMES}
    with ExitStack() as stack:
        for module in _modules():
            for name, value in list(vars(module).items()):
                if callable(value) and _hashable(value) and value in replaced:
                    stack.enter_context(patch.object(module, name, replaced[value]))
        stack.enter_context(patch("discreet.mechanisms.streams._count_stream._BLOCK", 1))
        stack.enter_context(
            patch(
                "discreet.mechanisms.selection._exponential.uniform_below", lambda n, size: samplers.uniform_below(n, 1)
            )
        )
        for target, value in (also or {}).items():
            stack.enter_context(patch(target, value(samplers) if isinstance(value, Stand) else value))
        yield samplers.aim


class Stand:
    """A replacement that needs the samplers: ``Stand(lambda samplers: …)``."""

    def __init__(self, make: Callable[[_Samplers], Any]) -> None:
        self._make = make

    def __call__(self, samplers: _Samplers) -> Any:
        return self._make(samplers)


def between(cuts: Sequence[int]) -> Weights:
    """The law of a 64-bit word as far as comparisons with `cuts` can tell: each cut, and one word for each gap."""
    ends = sorted({each for each in map(int, cuts) if 0 <= each < 2**64})
    law: dict[int, Fraction] = {each: Fraction(1, 2**64) for each in ends}
    for low, high in zip([-1, *ends], [*ends, 2**64], strict=True):
        if high - low > 1:
            law[low + 1] = Fraction(high - low - 1, 2**64)
    return law


def short_words(bits: int) -> Weights:
    """Words of few bits, for code whose own length of words is patched to them."""
    return {word: Fraction(1, 2**bits) for word in range(2**bits)}


def _modules() -> list[ModuleType]:
    """Modules that may have imported a sampler: discreet's, without the samplers' own, and those beside this file."""
    found: list[ModuleType] = []
    for name, module in list(sys.modules.items()):
        ours = name == "discreet" or name.startswith("discreet.")
        tests = Path(getattr(module, "__file__", None) or "/").is_relative_to(TESTS)
        if (ours and not name.startswith("discreet.noise.")) or (tests and module is not sys.modules[__name__]):
            found.append(module)
    return found


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_NAMES = (
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "laplace_in_window",
    "permutation",
    "rounded_gaussian",
    "rounded_laplace",
    "rounded_laplace_log_normal",
    "rounded_laplace_noise",
    "rounded_pareto",
    "rounded_student_t",
    "rounded_uniform_log_normal",
    "staircase",
    "uniform64",
    "uniform_below",
)


class _Samplers:
    """The functions of `discreet.noise`, by draws."""

    def __init__(self, tail: Fraction, words: Weights | None) -> None:
        self._tail, self._words = tail, words
        self._draw: Draw | None = None

    def aim(self, draw: Draw) -> None:
        self._draw = draw

    def draw(self, law: Weights) -> Any:
        assert self._draw is not None
        return self._draw(law)

    def many(self, law: Weights, size: int) -> np.ndarray:
        return np.array([self.draw(law) for _ in range(size)], dtype=np.int64)

    def bernoulli(self, p: Any, size: int) -> np.ndarray:
        return np.array([self.draw(coin(rational(p, "p"))) for _ in range(size)], dtype=np.bool_)

    def bernoulli_exp(self, x: np.ndarray, exact: Callable[[int], Fraction]) -> np.ndarray:
        decided = []
        for i, near in enumerate(x.tolist()):
            exponent = Fraction(exact(i))
            assert abs(Fraction(near) - exponent) <= Fraction(1, 2**50) * max(1, exponent)  # what callers promise
            decided.append(self.draw(coin_exp(exponent)))
        return np.array(decided, dtype=np.bool_)

    def uniform_below(self, n: int, size: int) -> np.ndarray:
        return self.many(uniform(int(n)), size)

    def uniform64(self, size: int) -> np.ndarray:
        if self._words is None:
            raise NotEnumerable("uniform64 has 2**64 outcomes; give `words`")
        return np.array([self.draw(self._words) for _ in range(size)], dtype=np.uint64)

    def permutation(self, size: int) -> np.ndarray:
        return np.array(self.draw(orders(int(size))), dtype=np.int64)

    def discrete_laplace(self, scale: Any, size: int) -> np.ndarray:
        return self.many(laplace(rational(scale, "scale"), self._tail), size)

    def discrete_gaussian(self, sigma: Any, size: int) -> np.ndarray:
        return self.many(gaussian(rational(sigma, "sigma"), self._tail), size)

    def rounded_gaussian(self, sigma: Any, size: int) -> np.ndarray:
        return self.many(normal(rational(sigma, "sigma"), self._tail), size)

    def rounded_laplace_noise(self, scale: Any, size: int) -> np.ndarray:
        return self.many(laplace_around(Fraction(0), rational(scale, "scale"), self._tail), size)

    def laplace_in_window(self, scale: Fraction, low: np.ndarray, width: int) -> np.ndarray:
        drawn = [self.draw(window(Fraction(scale), each, int(width))) for each in low.tolist()]
        return np.array(drawn, dtype=np.int64)

    def staircase(self, epsilon: Any, width: int, first: int, size: int) -> np.ndarray:
        return self.many(stairs(rational(epsilon, "epsilon"), width, first, self._tail), size)

    def rounded_laplace(self, center: Fraction, scale: Fraction) -> int:
        return self.draw(laplace_around(Fraction(center), Fraction(scale), self._tail))

    def rounded_pareto(self, center: Fraction, scale: Fraction, shape: int) -> int:
        return self.draw(pareto_around(Fraction(center), Fraction(scale), shape, self._tail))

    def rounded_student_t(self, center: Fraction, scale: Fraction, degrees: int) -> int:
        return self.draw(student_around(Fraction(center), Fraction(scale), degrees, self._tail))

    def rounded_uniform_log_normal(self, center: Fraction, scale: Fraction, sigma: Fraction) -> int:
        return self.draw(uniform_log_normal_around(Fraction(center), Fraction(scale), Fraction(sigma), self._tail))

    def rounded_laplace_log_normal(self, center: Fraction, scale: Fraction, sigma: Fraction) -> int:
        return self.draw(laplace_log_normal_around(Fraction(center), Fraction(scale), Fraction(sigma), self._tail))
