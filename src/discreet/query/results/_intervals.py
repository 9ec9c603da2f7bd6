"""Half-widths of confidence intervals: quantiles of sums of independent noises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteLaplace
from discreet.query.budget._noise import NoiseMechanism

__all__ = ["check_level", "inverse", "linear_half_width", "ratio_half_widths"]

_GRID = 1 << 14
_FEW = 50  # standard deviations, in integers, below which a noise is convolved atom by atom


def check_level(level: float) -> float:
    """The confidence level as a float; raises `ParameterError` outside (0, 1)."""
    known = isinstance(level, int | float) and not isinstance(level, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not known or not 0 < level < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, for example 0.95; got {level!r}")
    return float(level)


def linear_half_width(coefficients: Sequence[float], noises: Sequence[NoiseMechanism], level: float) -> float:
    """The least w with Pr[|Σ cᵢ·Zᵢ| ≤ w] ≥ level, for independent noises Zᵢ.

    One noise is answered from its exact distribution. Several are convolved numerically, in cells about 1/1000 of the
    answer wide: noise of few integers by its own probabilities, other noise by its continuous form, which it is within
    a cell. The answer is rounded up by the cells that rounding may have cost.
    """
    terms = [(abs(c), noise) for c, noise in zip(coefficients, noises, strict=True) if c]
    if not terms:
        return 0.0
    if not np.isfinite([c for c, _ in terms]).all():
        return float("nan")
    if len(terms) == 1:
        return terms[0][0] * terms[0][1].error(level)
    spread = float(np.sqrt(sum((c * noise.std) ** 2 for c, noise in terms)))
    if spread == 0:  # noise that is 0 but for a probability below the smallest double
        return 0.0
    reach = spread * max(8.0, 2 * np.log(4 / (1 - level)))
    step = 2 * reach / _GRID
    edges = (np.arange(_GRID + 1) - _GRID / 2 - 0.5) * step
    transform = np.ones(_GRID // 2 + 1, dtype=complex)
    for c, noise in terms:
        mass = _atoms(c / step, noise) if noise.std < _FEW else np.diff(_cdf(edges / (c * noise.std), noise))
        transform *= np.fft.rfft(np.fft.ifftshift(mass))
    density = np.fft.fftshift(np.fft.irfft(transform, _GRID))
    centre = _GRID // 2
    within = density[centre] + np.cumsum(density[centre + 1 :] + density[1:centre][::-1])
    return float(step * (np.searchsorted(within, level) + (3 + len(terms)) / 2))


def ratio_half_widths(
    slopes: Sequence[NDArray[np.float64]], noises: Sequence[NoiseMechanism], level: float
) -> NDArray[np.float64]:
    """Approximate half-widths, a row each, of an answer that is not linear in its noises.

    First-order (delta) method with the Cornish–Fisher quantile of the sum's kurtosis.
    """
    from scipy.special import ndtri

    parts = np.array([(s * noise.std) ** 2 for s, noise in zip(slopes, noises, strict=True)])
    variance = parts.sum(axis=0)
    excess = np.array([3.0 if isinstance(noise, DiscreteLaplace) else 0.0 for noise in noises])
    with np.errstate(all="ignore"):
        kurtosis = np.where(variance > 0, (excess[:, None] * parts**2).sum(axis=0) / variance**2, 0.0)
    z = float(ndtri((1 + level) / 2))
    return np.sqrt(variance) * (z + (z**3 - 3 * z) * kurtosis / 24)


def inverse(share: NDArray[np.float64], noise: NoiseMechanism) -> NDArray[np.float64]:
    """Where the noise's distribution function first reaches each share: whole numbers for noise of few of them."""
    if noise.std < _FEW:
        ends = int(40 * noise.std) + 40
        integers = np.arange(-ends, ends + 1)
        return integers[np.searchsorted(np.cumsum(_weights(integers, noise))[:-1], share)].astype(np.float64)
    if isinstance(noise, DiscreteLaplace):
        off = share - 0.5
        return -np.sign(off) * np.log1p(-2 * np.abs(off)) * noise.std / np.sqrt(2.0)
    from scipy.special import ndtri

    return np.asarray(ndtri(share)) * noise.std


def _weights(integers: NDArray[np.int64], noise: NoiseMechanism) -> NDArray[np.float64]:
    """The probabilities of a noise's integers, those that are far out apart."""
    if isinstance(noise, DiscreteLaplace):
        weights = np.exp(-np.abs(integers) / float(noise.scale))
    else:
        weights = np.exp(-(integers**2) / (2 * float(noise.sigma) ** 2))
    return weights / weights.sum()


def _atoms(spacing: float, noise: NoiseMechanism) -> NDArray[np.float64]:
    """The probabilities of a noise's integers in the cells they fall in, `spacing` cells from one to the next."""
    ends = min(int(40 * noise.std) + 40, int(_GRID / 2 / spacing) + 1)
    integers = np.arange(-ends, ends + 1)
    cells = np.clip(np.rint(integers * spacing) + _GRID // 2, 0, _GRID - 1).astype(int)
    return np.bincount(cells, _weights(integers, noise), _GRID).astype(np.float64)


def _cdf(z: NDArray[np.floating[Any]], noise: NoiseMechanism) -> NDArray[np.floating[Any]]:
    """The distribution function of the noise's continuous form at `z` standard deviations."""
    if isinstance(noise, DiscreteLaplace):
        tail = 0.5 * np.exp(-np.abs(z) * np.sqrt(2.0))
        return np.where(z < 0, tail, 1 - tail)
    from scipy.special import ndtr

    return ndtr(z)
