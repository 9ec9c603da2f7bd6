"""What two probabilities of one event prove: it is at least `p` on one input, and at most `q` on its neighbour."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["epsilon_shown", "mu_shown", "rho_shown", "rho_shown_by_cells"]

_ORDERS = 1 + np.geomspace(1e-3, 1e2, 61)
_SLACK = 1e-11


def epsilon_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No ε below this holds at δ, as p ≤ e^ε q + δ would, and 1 − q ≤ e^ε (1 − p) + δ. Takes arrays; 0 shows nothing.

    Source: the definition of (ε, δ)-differential privacy, for the event and for its complement.

    >>> round(float(epsilon_shown(0.5, 0.25)), 4)
    0.6931
    """
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.maximum(_log_ratio(one - delta, other), _log_ratio(1 - other - delta, 1 - one))


def _log_ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log(np.maximum(above, 0.0)) - np.log(np.maximum(below, 0.0))
    return np.maximum(np.nan_to_num(shown, nan=0.0, posinf=np.inf, neginf=0.0) - _SLACK, 0.0)


def mu_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No μ below this holds: Gaussian differential privacy allows p at most Φ(Φ⁻¹(q) + μ), off a mass of δ.

    Tight for Gaussian noise at every event, where ε at a small δ is not. Takes arrays. Source: Dong, Roth and Su 2022,
    equation 6; Nasr et al. 2023, "Tight auditing of differentially private machine learning", section 4.

    >>> round(float(mu_shown(0.5, 0.15865)), 3)
    1.0
    """
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

    one, other = _conditioned(p, q, delta)
    with np.errstate(invalid="ignore"):
        return np.where(one > other, np.maximum(ndtri(one) - ndtri(other) - 1e-10, 0.0), 0.0)


def rho_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No ρ below this holds: the Rényi divergence of order α of the two coins is at most ρα, off a mass of δ.

    Takes arrays. Source: data processing for the divergences of Bun and Steinke 2016, Definitions 1.1 and 8.1.

    >>> round(float(rho_shown(1.0, 0.25)), 4)  # the divergence of every order is ln 4
    1.3849
    """
    one, other = (part[..., None] for part in _conditioned(p, q, delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = _ORDERS * np.log(one) + (1 - _ORDERS) * np.log(other)
        unseen = np.where(one < 1, _ORDERS * np.log1p(-one) + (1 - _ORDERS) * np.log1p(-other), -np.inf)
        shown = np.max(np.logaddexp(seen, unseen) / (_ORDERS - 1) / _ORDERS, axis=-1) - 1e-9
    return np.where(one[..., 0] > other[..., 0], np.maximum(shown, 0.0), 0.0)


def rho_shown_by_cells(p: ArrayLike, q: ArrayLike) -> float:
    """No ρ below this holds, for disjoint events of probability at least pᵢ here and at most qᵢ there.

    ln Σ pᵢ^α qᵢ^(1−α) / (α − 1) ≤ ρα for every order α > 1, since the sum grows with each pᵢ and falls with each qᵢ.
    Source: data processing for the divergence of Bun and Steinke 2016, Definition 1.1.

    >>> round(rho_shown_by_cells([0.75, 0.25], [0.25, 0.75]), 4)
    0.5492
    """
    one, other = np.asarray(p, dtype=np.float64), np.maximum(np.asarray(q, dtype=np.float64), 1e-300)
    with np.errstate(divide="ignore"):
        shares = _ORDERS[:, None] * np.log(one) + (1 - _ORDERS[:, None]) * np.log(other)
    return max(0.0, float(np.max(np.logaddexp.reduce(shares, axis=1) / (_ORDERS - 1) / _ORDERS)) - 1e-9)


def _conditioned(p: ArrayLike, q: ArrayLike, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least p and the greatest q once a mass of δ is left out on either side."""
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if delta >= 1:
        return np.zeros_like(one), np.ones_like(other)
    return np.maximum(0.0, (one - delta) / (1 - delta)), np.minimum(1.0, other / (1 - delta))
