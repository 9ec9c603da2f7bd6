"""Marginals of a table by their residuals: orthogonal parts of which each has noise of its own, in the best shares.

Numbers alone: what is measured, how far a person moves it, which shares of a budget are best, and how the marginals
are made of what was measured, unbiased or never negative. Source: Xiao, He, Zhang and Kifer 2023 (ResidualPlanner),
with integer noise in place of correlated noise; ``proofs/residual_marginals.md``.
"""

from discreet.marginals.residuals._estimate import ResidualErrors, residual_of, tabulated
from discreet.marginals.residuals._lattice import Columns, Lattice, Numbers
from discreet.marginals.residuals._log_linear import DIRECT_CELLS, log_linear
from discreet.marginals.residuals._residual import (
    centred,
    component_variance,
    residual_norms,
    residual_query,
    residual_scale,
)
from discreet.marginals.residuals._shares import OptimalShares, least_largest, least_sum

__all__ = [
    "DIRECT_CELLS",
    "Columns",
    "Lattice",
    "Numbers",
    "OptimalShares",
    "ResidualErrors",
    "centred",
    "component_variance",
    "least_largest",
    "least_sum",
    "log_linear",
    "residual_norms",
    "residual_of",
    "residual_query",
    "residual_scale",
    "tabulated",
]
