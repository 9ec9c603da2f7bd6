"""What a release costs: losses, their composition, and the unit they protect."""

from discreet.privacy import filters, game, theorems
from discreet.privacy._budget import budget_of, currency, left
from discreet.privacy._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy._constructors import (
    approx,
    bounded_range,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
    mu,
    nonadaptive,
    pure,
    randomized_response,
    rdp,
    rho,
)
from discreet.privacy._currency import as_approx, as_mu, as_pure, as_rho, in_currency, parts
from discreet.privacy._expression import from_text
from discreet.privacy._interpret import fits
from discreet.privacy._loss import Loss, Sum, Times
from discreet.privacy._meanings import tradeoff_curve
from discreet.privacy._nodes import (
    Approx,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mu,
    NonAdaptive,
    Pure,
    RandomizedResponse,
    Rdp,
    Rho,
    Tradeoff,
)
from discreet.privacy._solve import solve
from discreet.privacy._text import from_json, in_words, to_json
from discreet.privacy._tradeoffs import tradeoff
from discreet.privacy._unit import Relation, Unit

__all__ = [
    "Approx",
    "BoundedRange",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Group",
    "Laplace",
    "Loss",
    "Mu",
    "NonAdaptive",
    "Parallel",
    "Pure",
    "RandomizedResponse",
    "Rdp",
    "Relation",
    "Rho",
    "Sampled",
    "Shuffled",
    "Substituted",
    "Sum",
    "Times",
    "Tradeoff",
    "Unit",
    "approx",
    "as_approx",
    "as_mu",
    "as_pure",
    "as_rho",
    "bounded_range",
    "budget_of",
    "currency",
    "discrete_gaussian",
    "discrete_laplace",
    "filters",
    "fits",
    "from_json",
    "from_text",
    "game",
    "gaussian",
    "in_currency",
    "in_words",
    "laplace",
    "left",
    "mu",
    "nonadaptive",
    "parts",
    "pure",
    "randomized_response",
    "rdp",
    "rho",
    "solve",
    "theorems",
    "to_json",
    "tradeoff",
    "tradeoff_curve",
]
