"""What has another name elsewhere and the same meaning: written as it is known here."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.query.parse._trees import transformed

__all__ = ["STATISTICS_ELSEWHERE", "known_spellings"]

STATISTICS_ELSEWHERE: Mapping[str, str] = {
    "VAR": "VAR_SAMP",
    "MEAN": "AVG",
    "APPROX_COUNT_DISTINCT": "COUNT(DISTINCT x)",
    "APPROX_DISTINCT": "COUNT(DISTINCT x)",
}
"""Names of statistics that other systems have, and which statistic each is."""
_PI = "3.141592653589793"


def known_spellings(select: exp.Select) -> exp.Select:
    """The tree itself, with VAR, MEAN and APPROX_COUNT_DISTINCT as the statistics that they are, and PI() as a number.

    A count of distinct values has noise: it is approximate in any case, so an accuracy that is asked for stays, and is
    refused.

    >>> known_spellings(exp.maybe_parse("SELECT VAR(x), APPROX_DISTINCT(y) FROM t", into=exp.Select)).sql()
    'SELECT VARIANCE(x), COUNT(DISTINCT y) FROM t'
    """
    plain = transformed(select, _known)
    assert isinstance(plain, exp.Select)
    return plain


def _known(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Pi():
            return exp.Literal.number(_PI)
        case exp.ApproxDistinct() if not node.args.get("accuracy"):
            return exp.Count(this=exp.Distinct(expressions=[_part(node.this)]))
        case exp.Anonymous() if len(node.expressions) == 1 and node.name.upper() == "VAR":
            return exp.Variance(this=_part(node.expressions[0]))
        case exp.Anonymous() if len(node.expressions) == 1 and node.name.upper() == "MEAN":
            return exp.Avg(this=_part(node.expressions[0]))
        case _:
            return node


def _part(node: exp.Expr) -> exp.Expr:
    """The argument of what is written anew."""
    return transformed(node.copy(), _known)
