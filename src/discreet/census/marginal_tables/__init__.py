"""Marginals of one table, all measured together: charged once, unbiased, adding up, with the least error there is."""

from discreet.census.marginal_tables._plan import MarginalsPlan
from discreet.census.marginal_tables._publish import (
    load_marginals,
    marginals,
    plan_marginals,
    plan_marginals_question,
)
from discreet.census.marginal_tables._question import PreparedMarginals, PublishMarginals
from discreet.census.marginal_tables._tables import Estimated, MarginalTables
from discreet.census.marginal_tables._verify import MARGINALS_KIND

__all__ = [
    "MARGINALS_KIND",
    "Estimated",
    "MarginalTables",
    "MarginalsPlan",
    "PreparedMarginals",
    "PublishMarginals",
    "load_marginals",
    "marginals",
    "plan_marginals",
    "plan_marginals_question",
]
