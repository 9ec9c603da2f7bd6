"""Privacy-loss distributions in numbers: certified two-sided epsilon and delta of compositions of dominating pairs.

Pure functions over numbers; what a release is, and which pair dominates it, is decided above. proofs/accounting.md.
"""

from discreet.privacy.pld._bounds import delta_bounds, epsilon_bounds
from discreet.privacy.pld._finite import (
    FinitePair,
    approximate_pair,
    bounded_range_pair,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    response_pair,
)
from discreet.privacy.pld._gaussian import GaussianPair
from discreet.privacy.pld._laplace import LaplacePair
from discreet.privacy.pld._pairs import Pair
from discreet.privacy.pld._profile import Profile
from discreet.privacy.pld._sampling import Swapped

__all__ = [
    "FinitePair",
    "GaussianPair",
    "LaplacePair",
    "Pair",
    "Profile",
    "Swapped",
    "approximate_pair",
    "bounded_range_pair",
    "delta_bounds",
    "discrete_gaussian_pair",
    "discrete_laplace_pair",
    "epsilon_bounds",
    "response_pair",
]
