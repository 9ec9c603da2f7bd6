"""The curve of Gaussian differential privacy, which the Gaussian mechanism attains."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.curves._base import WIDE, Bounds, Curve, FunctionCurve
from discreet.privacy.curves._rounding import down, up

__all__ = ["gaussian_curve", "wide_gaussian_curve"]


def gaussian_curve(squared: Fraction) -> Curve:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ): Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 2.13.

    It grows with μ, so the two ends are computed at the neighbours of the root of μ².

    >>> low, high = gaussian_curve(Fraction(1)).log_delta(1.0)
    >>> low <= math.log(0.12693673750664397) <= high, high - low < 1e-11
    (True, True)
    """
    below = math.nextafter(math.sqrt(down(squared)), 0)
    above = math.nextafter(math.sqrt(up(squared)), math.inf)
    return FunctionCurve(lambda eps: (_log_delta(eps, below)[0], _log_delta(eps, above)[1]))


def _log_delta(eps: float, mu: float) -> Bounds:
    """With a = μ/2 − ε/μ, b = −μ/2 − ε/μ and E(t) = erfcx(t) = e^{t²} erfc(t), from e^ε φ(b) = φ(a):

        δ = ½ e^{−a²/2} (E(−a/√2) − E(−b/√2)).

    Rounding: a and b are right to 3 units in the last place, of relative size 2⁻⁵³ each, once ε/μ is charged to ε,
    where it moves a and b together. Then t = −a/√2 moves E by at most (2t² + 2)·E relatively (E′ = 2tE − 2/√π), and
    a²/2 moves the exponential by a²·2⁻⁵¹. erfcx itself is taken to be right to 2⁻⁴⁸. Together they are below
    2⁻⁴⁷(1 + a² + b²)(E(−a/√2) + E(−b/√2)) in the bracket. Above a = 5 the first form is used: no cancellation is left
    there unless ε is tiny, and the same kind of margin covers both terms.
    """
    from scipy.special import erfcx, log_ndtr, ndtr  # pyright: ignore[reportMissingTypeStubs]

    if mu == 0 or math.isinf(eps):
        return -math.inf, -math.inf
    if math.isinf(mu):
        return 0.0, 0.0
    ratio = eps / mu
    a, b = mu / 2 - ratio, -mu / 2 - ratio
    if a > 5:
        log_second = eps + float(log_ndtr(b))
        second = math.exp(min(log_second, 0.0))
        delta = float(ndtr(a)) - second
        margin = 2.0**-48 * (1 + (eps + b * b) * second)
        return math.log(max(delta - margin, 5e-324)), math.log(min(delta + margin, 1.0))
    if a < -1e150:
        return -math.inf, -1e300
    first, second = float(erfcx(-a / math.sqrt(2))), float(erfcx(-b / math.sqrt(2)))
    margin = 2.0**-47 * (1 + a * a + b * b) * (first + second)
    scale = -a * a / 2 - math.log(2)
    gap = first - second
    outer = 2.0**-47 * (1 + a * a)
    low = scale + math.log(gap - margin) - outer if gap > margin else -math.inf
    return low, scale + math.log(gap + margin) + outer


_LEAST_SIGMA = 100
_ROOT = math.sqrt(2 * math.pi)
_SAFE = math.log(1.01)  # for what the floats below may lose


def wide_gaussian_curve(sigma: Fraction, sensitivity: int) -> Curve | None:
    """δ within E of the Gaussian mechanism with μ = s/σ from above, within D + E from below.

    None unless σ ≥ 100 and s ≤ 2σ². Source: ``proofs/discrete_gaussian.md``, Wide noise.

    >>> low, high = wide_gaussian_curve(Fraction(3_730_650), 10**6).log_delta(1.0)
    >>> f"{math.exp(low):.7e} {math.exp(high):.7e}"
    '9.9991827e-06 9.9991827e-06'
    """
    if sigma < _LEAST_SIGMA or sensitivity > 2 * sigma * sigma:
        return None
    continuous = gaussian_curve((sensitivity / sigma) ** 2)
    width, mu = float(sigma), float(sensitivity / sigma)

    def log_delta(eps: float) -> Bounds:
        low, high = continuous.log_delta(eps)
        log_d, log_e = _gaps(eps, width, mu)
        lost = _log_sum(log_d, log_e) - low if low > -math.inf else math.inf
        reduced = low + math.log(-math.expm1(lost)) - WIDE * (1 + abs(low)) if lost < 0 else -math.inf
        return reduced, _log_sum(high, log_e) + WIDE

    return FunctionCurve(log_delta)


def _gaps(eps: float, sigma: float, mu: float) -> Bounds:
    """Upper bounds of ln D and of ln E. The cut y lies in [a, b], in units of σ, and m is its point nearest to 0."""
    cut = eps / mu - mu / 2
    if cut > 1e150:
        return -1e300, -1e300
    spread = 0.5 / sigma + 1e-14 * (eps / mu + mu)
    a, b = cut - spread, cut + spread
    at_most = -(max(0.0, a, -b) ** 2) / 2
    step = mu / (2 * sigma)
    far = math.log(b + mu) + step + at_most if a + mu >= 1 else math.log(4) + step
    near = math.log(b) + at_most if a >= 1 else math.log(2.5)
    log_e = _log_sum(near, far) - math.log(8 * _ROOT * sigma * sigma)
    log_d = at_most + math.log(math.expm1(step) / (2 * _ROOT * sigma))
    return log_d + _SAFE, log_e + _SAFE


def _log_sum(x: float, y: float) -> float:
    top = max(x, y)
    return top + math.log1p(math.exp(min(x, y) - top)) if top > -math.inf else top
