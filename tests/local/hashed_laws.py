"""What is true of schemes with public hash functions: exactly under given ones, and on average over their choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from local_laws import chance_of_mean, law

from discreet.local import Reports
from discreet.local.frequencies._sketch import SketchScheme


def buckets_of_all(scheme: Any) -> np.ndarray:
    """The bucket of each value of the domain in each row."""
    if isinstance(scheme, SketchScheme):
        rows = np.arange(scheme.hashes)
        return np.array([scheme.buckets(np.full(rows.size, value), rows) for value in range(scheme.domain.size)])
    rows = np.arange(scheme.keys)
    return np.array([scheme._quadratic.hashed(np.full(rows.size, value), rows) for value in range(scheme.domain.size)])


def assert_supports_are_those_of_the_law(scheme: Any) -> None:
    """A report's mean estimate, by enumeration: it supports truly in rows where values collide, and else as another."""
    hashed = buckets_of_all(scheme)
    p, q = (float(each) for each in scheme.support_probabilities)
    other = float(scheme._supports.other)
    assert ((hashed[:, None] == hashed[None]).mean(axis=2)[~np.eye(len(hashed), dtype=bool)] > 0).any()
    for value in range(len(hashed)):
        mean = np.zeros(len(hashed))
        for report, weight in law(scheme, value).items():
            batch = Reports(scheme.fingerprint, np.frombuffer(report, dtype=np.uint8).reshape(1, -1))
            mean += float(weight) * scheme.server().add(batch).estimate().frequencies
        colliding = (hashed == hashed[value]).mean(axis=1)
        supported = other + (p - other) * colliding
        assert mean == pytest.approx((supported - q) / (p - q), abs=1e-9)


def assert_mean_square_over_functions(
    make: Callable[[int], Any], values: np.ndarray, rounds: int, within: float = 0.05, alarm: float = 1e-9
) -> None:
    """Over rounds, each with functions of its own, errors and the square of `stderr` are those of theory.

    Each round's mean over the values is one observation.
    """
    errors, stated = [], []
    for key in range(rounds):
        scheme = make(key)
        shares = np.bincount(values, minlength=scheme.domain.size) / values.size
        theory = scheme.variance(shares) / values.size + scheme.collision_variance(shares)
        found = scheme.server().add(scheme.simulate(values)).estimate()
        errors.append(((found.frequencies - shares) ** 2 / theory).mean())
        stated.append((found.stderr**2 / theory).mean())
    spread = np.std(errors, ddof=1) / math.sqrt(rounds)
    assert chance_of_mean(np.array(errors)) > alarm
    assert spread < within
    assert np.mean(stated) == pytest.approx(1, abs=0.1)
