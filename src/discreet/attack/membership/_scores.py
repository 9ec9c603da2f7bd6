"""Scores of membership from a model's confidences and those of shadow models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.attack.membership._shadows import Shadows

__all__ = ["bayesian", "lira", "quantile", "rmia"]

_Floats = NDArray[np.float64]
_SMALLEST = 1e-6


def lira(logits: _Floats, shadows: Shadows, *, offline: bool = False) -> _Floats:
    """The likelihood ratio of two normal distributions: confidences of models with the person, and without.

    Each person has means of its own; with fewer than 64 shadow models all share their variances. Offline, only models
    without the person are used: how far above those the confidence is. Source: Carlini et al. 2022.
    """
    mean_in, mean_out, spread_in, spread_out, *_ = _moments(shadows)
    if len(shadows.logits) < 64:
        spread_in, spread_out = _pooled(shadows, mean_in, mean_out)
    if offline:
        return (logits - mean_out) / spread_out
    return _log_normal(logits, mean_in, spread_in) - _log_normal(logits, mean_out, spread_out)


def bayesian(logits: _Floats, shadows: Shadows) -> _Floats:
    """The likelihood ratio of two predictive distributions: means and variances are drawn to those of all people.

    For each person mean and variance are unknown; their prior is fitted to all people (normal and inverse gamma), and
    what is left unknown with few models widens the tails to Student's. With many models it is `lira` with variances of
    each person's own. It is the idea of BaVarIA (2026); the prior and its fit are our own.
    """
    mean_in, mean_out, spread_in, spread_out, count_in, count_out = _moments(shadows)
    return _predictive(logits, mean_in, spread_in, count_in) - _predictive(logits, mean_out, spread_out, count_out)


def rmia(logits: _Floats, shadows: Shadows, *, scale: float = 0.5) -> _Floats:
    """The share of other people to whom the model's surprise compares less: a test against a population.

    A person's probability under the model is divided by its mean under all models, in and out; the score is the share
    of others for whom that is smaller. Source: Zarifzadeh, Liu and Shokri 2024. `scale` corrects the mean without the
    person, where only such models are there.
    """
    own = _probability(logits)
    outside = np.where(shadows.was_in, np.nan, _probability(shadows.logits))
    without = np.nanmean(outside, axis=0)
    ratio = own / (((1 + scale) * without + (1 - scale)) / 2)
    ordered = np.sort(ratio)
    return np.searchsorted(ordered, ratio, side="right") / len(ratio)


def quantile(logits: _Floats, shadows: Shadows, features: _Floats) -> _Floats:
    """How far the confidence is above what a regression expects of people who are not in a model.

    The regression is one of mean and spread on features, fitted to confidences of models without the person: no model
    of the person's own is needed. After Bertran et al. 2023, with trees in place of a network.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    out = ~shadows.was_in
    rows = np.concatenate([features[each] for each in out])
    seen = np.concatenate([each[there] for each, there in zip(shadows.logits, out, strict=True)])
    middle = HistGradientBoostingRegressor(max_iter=100).fit(rows, seen)
    spread = HistGradientBoostingRegressor(max_iter=50).fit(rows, np.abs(seen - middle.predict(rows)))
    expected = np.asarray(middle.predict(features), np.float64)
    reach = np.maximum(np.asarray(spread.predict(features), np.float64), _SMALLEST)
    return (logits - expected) / reach


def _probability(logits: _Floats) -> _Floats:
    return 1 / (1 + np.exp(-logits))


def _moments(shadows: Shadows) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats, _Floats]:
    """Of each person mean and standard deviation with the person and without, and on how many models."""
    inside = np.where(shadows.was_in, shadows.logits, np.nan)
    outside = np.where(shadows.was_in, np.nan, shadows.logits)
    counts = shadows.was_in.sum(axis=0).astype(np.float64)
    return (
        np.nanmean(inside, axis=0),
        np.nanmean(outside, axis=0),
        np.maximum(np.nanstd(inside, axis=0), _SMALLEST),
        np.maximum(np.nanstd(outside, axis=0), _SMALLEST),
        counts,
        len(shadows.logits) - counts,
    )


def _pooled(shadows: Shadows, mean_in: _Floats, mean_out: _Floats) -> tuple[float, float]:
    """One standard deviation for all, with the person and without."""
    inside = (shadows.logits - mean_in)[shadows.was_in]
    outside = (shadows.logits - mean_out)[~shadows.was_in]
    return max(float(inside.std()), _SMALLEST), max(float(outside.std()), _SMALLEST)


def _log_normal(values: _Floats, mean: _Floats, spread: _Floats | float) -> _Floats:
    return -(((values - mean) / spread) ** 2) / 2 - np.log(spread)


def _predictive(values: _Floats, mean: _Floats, spread: _Floats, count: _Floats) -> _Floats:
    """The logarithm of Student's density, up to a constant that both sides share."""
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    squares = count * spread**2
    variance = float(squares.sum() / np.maximum(count - 1, 0).sum()) if (count > 1).any() else 1.0
    centre = float(mean.mean())
    between = max(float(mean.var()) - float((variance / count).mean()), _SMALLEST)
    strength = variance / between  # how many models the prior of a mean is worth
    shape = _shape_of_variances(squares, count, variance)
    total = count + strength
    drawn = (count * mean + strength * centre) / total
    degrees = 2 * shape + count
    sums = 2 * shape * variance + squares + count * strength / total * (mean - centre) ** 2
    scale = np.sqrt(sums / degrees * (1 + 1 / total))
    away = (values - drawn) / scale
    return (
        gammaln((degrees + 1) / 2)
        - gammaln(degrees / 2)
        - np.log(degrees) / 2
        - np.log(scale)
        - (degrees + 1) / 2 * np.log1p(away**2 / degrees)
    )


def _shape_of_variances(squares: _Floats, count: _Floats, variance: float) -> float:
    """How alike people's variances are: the shape of their inverse gamma distribution, by its second moment."""
    several = count > 2
    if not several.any():
        return 2.0
    each = squares[several] / (count[several] - 1)
    noise = float((2 / (count[several] - 1)).mean())
    spread = max(float(each.var()) / variance**2 - noise, 0.0) / (1 + noise)
    return float(np.clip(1 + 1 / spread if spread else 50.0, 1.5, 50.0))
