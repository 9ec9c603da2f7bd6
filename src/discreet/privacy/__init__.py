"""What a release costs: losses, their composition, and the unit they protect."""

from discreet.privacy import accounting as _accounting
from discreet.privacy import filters, game, theorems
from discreet.privacy.accounting._budget import (
    as_approx,
    as_mu,
    as_pure,
    as_rho,
    budget_of,
    currency,
    in_currency,
    left,
    parts,
)
from discreet.privacy.accounting._certify import fits
from discreet.privacy.accounting._comparison import compare
from discreet.privacy.accounting._meanings import tradeoff_curve
from discreet.privacy.accounting._solve import solve
from discreet.privacy.losses._base import (
    GroupLoss,
    Loss,
    ParallelLoss,
    SampledLoss,
    ShuffledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
)
from discreet.privacy.losses._constructors import (
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
from discreet.privacy.losses._json import from_json, to_json
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
    TradeoffLoss,
)
from discreet.privacy.losses._parser import from_text
from discreet.privacy.losses._tradeoff import tradeoff
from discreet.privacy.losses._unit import Relation, Unit
from discreet.privacy.losses._words import in_words

__all__ = [
    "ApproxLoss",
    "BoundedRangeLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "GroupLoss",
    "LaplaceLoss",
    "Loss",
    "MuLoss",
    "NonAdaptiveLoss",
    "ParallelLoss",
    "PureLoss",
    "RandomizedResponseLoss",
    "RdpLoss",
    "Relation",
    "RhoLoss",
    "SampledLoss",
    "ShuffledLoss",
    "SubstitutedLoss",
    "SumLoss",
    "TimesLoss",
    "TradeoffLoss",
    "Unit",
    "approx",
    "as_approx",
    "as_mu",
    "as_pure",
    "as_rho",
    "bounded_range",
    "budget_of",
    "compare",
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

Loss.interpreter = _accounting
