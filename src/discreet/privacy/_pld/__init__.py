"""Privacy-loss distributions in numbers: certified two-sided epsilon and delta of compositions of dominating pairs.

Pure functions over numbers; what a release is, and which pair dominates it, is decided above. proofs/accounting.md.
"""

from discreet.privacy._pld._bounds import delta_bounds, epsilon_bounds
from discreet.privacy._pld._discrete import discrete_gaussian_pair, discrete_laplace_pair
from discreet.privacy._pld._finite import FinitePair
from discreet.privacy._pld._finite_pairs import approximate_pair, bounded_range_pair, response_pair
from discreet.privacy._pld._gaussian import GaussianPair
from discreet.privacy._pld._laplace import LaplacePair
from discreet.privacy._pld._pair import Pair
from discreet.privacy._pld._profile import Profile
from discreet.privacy._pld._swapped import Swapped

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
