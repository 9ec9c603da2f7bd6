"""What the engine has learnt so far. A case whose needs have not all landed must be refused, in words that help."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["FEATURES", "LANDED", "Feature", "landed"]

Feature = Literal[
    "case",  # CASE, COALESCE, NULLIF, IF and their kin
    "casts",
    "combined",  # SQL over releases
    "comma joins",  # FROM a, b and CROSS JOIN, tied by WHERE
    "count distinct",
    "count distinct people",
    "covariance",  # COVAR, CORR, REGR
    "ctes",
    "date functions",
    "filter",  # FILTER (WHERE ...) and COUNT_IF
    "group expressions",
    "grouped things",  # sub-aggregates by what has one owner
    "grouping sets",
    "joins",  # of private tables along the person
    "left joins",
    "listed keys",  # public keys without an aggregate
    "modes",
    "natural joins",
    "number functions",
    "output functions",  # functions of aggregates in the SELECT list
    "paths",  # unit = "order_id -> orders.id"
    "per person",  # sub-aggregates by the person
    "pivot",
    "public tables",
    "quantiles",
    "select distinct",
    "self joins",
    "string functions",
    "semi joins",  # SEMI and ANTI JOIN
    "sub-queries",
    "sub-query conditions",  # EXISTS, IN, ANY and ALL
    "sub-query values",
    "top-k",  # the first keys by a count, chosen before noise
    "union all",
    "using",
    "variance",
    "windows",  # over the released rows
]

FEATURES: frozenset[Feature] = frozenset(get_args(Feature))

LANDED: frozenset[Feature] = FEATURES
"""Extend this when a feature lands, and its cases are asked."""


def landed(needs: frozenset[Feature]) -> bool:
    """Whether everything that a case needs is there."""
    return needs <= LANDED
