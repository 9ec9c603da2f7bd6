"""Schemes that every protocol's tests go through: each protocol adds its own, small enough to be enumerated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import local
from discreet.local.examples import examples

SMALL: dict[str, Callable[[str], Any]] = {
    **{each.name: each.at for each in examples() if each.group in {"Yes or no", "One value of a list"}},
    "LocalHashing binary": lambda epsilon: local.LocalHashing(domain=4, epsilon=epsilon, buckets=2),
}
"""A scheme over a domain of a few numbers, by its ε."""

HASHED: dict[str, Callable[[str], Any]] = {
    "public_hashing": lambda epsilon: local.LocalHashing(domain=4, epsilon=epsilon, buckets=3, keys=6),
    "count_mean": lambda epsilon: local.CountMeanSketch(epsilon, hashes=3, width=3, domain=4),
    "hadamard_count_mean": lambda epsilon: local.HadamardCountMeanSketch(epsilon, hashes=3, width=4, domain=4),
}
"""Schemes whose estimates are unbiased over the choice of their public hash functions, and not under given ones."""

ALL = {**SMALL, **HASHED}
