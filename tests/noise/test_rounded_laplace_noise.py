"""Vectors of rounded Laplace noise: from halves to whole numbers, and the same law as one number at a time."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
from scipy import stats

from discreet.noise import _rounded_laplace_noise, rounded_laplace, rounded_laplace_noise


class Halves:
    """Every magnitude below 12 with both signs, and one that 64 bits only just hold."""

    def magnitudes(self, size: int, source: object) -> tuple[np.ndarray, np.ndarray]:
        magnitude = np.array([*range(12), *range(12), 2**63 - 1], dtype=np.int64)
        return magnitude, np.array([0] * 12 + [-1] * 12 + [0], dtype=np.int64)


def test_halves_become_the_law_of_rounding(monkeypatch) -> None:
    """P(N = n) = (1 − h) hⁿ with h = exp(−1/2b), each sign half the time: the sums are those of rounding b·L."""
    asked = []
    monkeypatch.setattr(_rounded_laplace_noise, "geometric_blocks", lambda scale: asked.append(scale) or Halves())
    drawn = _rounded_laplace_noise._halved(Fraction(100))(25, None)
    assert asked == [200]
    assert drawn.tolist()[-1] == 2**62
    with mpmath.workdps(50):
        h = mpmath.exp(-mpmath.mpf(1) / 200)
        chance = [(1 - h) * h**n / 2 for n in range(12)] * 2
        for x in range(-5, 6):
            found = mpmath.fsum(p for value, p in zip(drawn.tolist()[:-1], chance, strict=True) if value == x)
            low, high = (abs(x) - mpmath.mpf("0.5")) / 100, (abs(x) + mpmath.mpf("0.5")) / 100
            stated = (mpmath.exp(-low) - mpmath.exp(-high)) / 2 if x else 1 - mpmath.exp(-high)
            assert abs(found - stated) < mpmath.mpf(10) ** -45


def test_one_at_a_time_has_the_same_law() -> None:
    """A chi-square test of two samples, which fails by chance with probability 1e-12."""
    some = np.array([rounded_laplace(Fraction(0), Fraction(2)) for _ in range(4000)])
    many = rounded_laplace_noise(2, 400_000)
    counts = [np.bincount(np.clip(each, -6, 6) + 6, minlength=13) for each in (some, many)]
    assert stats.chi2_contingency(counts).pvalue > 1e-12
