"""Schemes that every protocol's tests go through: each protocol adds its own, small enough to be enumerated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import local

SMALL: dict[str, Callable[[str], Any]] = {
    "basic_rappor": lambda epsilon: local.BasicRappor.from_epsilon(domain=4, epsilon=epsilon, longitudinal="once"),
    "kary": lambda epsilon: local.KaryRandomizedResponse(domain=5, epsilon=epsilon),
    "symmetric_unary": lambda epsilon: local.SymmetricUnary(domain=4, epsilon=epsilon),
    "optimized_unary": lambda epsilon: local.OptimizedUnary(domain=4, epsilon=epsilon),
    "local_hashing": lambda epsilon: local.LocalHashing(domain=5, epsilon=epsilon),
    "binary_hashing": lambda epsilon: local.LocalHashing(domain=4, epsilon=epsilon, buckets=2),
    "warner": local.Warner.from_epsilon,
    "hadamard": lambda epsilon: local.HadamardResponse(domain=6, epsilon=epsilon),
    "projective_geometry": lambda epsilon: local.ProjectiveGeometry(domain=12, epsilon=epsilon),
    "subset_selection": lambda epsilon: local.SubsetSelection(domain=6, epsilon=epsilon),
}
"""A scheme over a domain of a few numbers, by its ε."""

HASHED: dict[str, Callable[[str], Any]] = {
    "public_hashing": lambda epsilon: local.LocalHashing(domain=4, epsilon=epsilon, buckets=3, keys=6),
    "count_mean": lambda epsilon: local.CountMeanSketch(epsilon, hashes=3, width=3, domain=4),
    "hadamard_count_mean": lambda epsilon: local.HadamardCountMeanSketch(epsilon, hashes=3, width=4, domain=4),
}
"""Schemes whose estimates are unbiased over the choice of their public hash functions, and not under given ones."""

ALL = {**SMALL, **HASHED}
