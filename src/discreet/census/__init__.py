"""Statistical tables: marginals of one table, each number unbiased, with its error known before anything is paid."""

from discreet.census.marginal_tables import (
    MARGINALS_KIND,
    Estimated,
    MarginalsPlan,
    MarginalTables,
    PreparedMarginals,
    PublishMarginals,
    load_marginals,
    marginals,
    plan_marginals,
    plan_marginals_question,
)

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
