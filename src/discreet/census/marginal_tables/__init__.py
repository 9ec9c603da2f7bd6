"""Marginals of one table, all measured together and charged once: unbiased with the least error, and values from 0."""

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
