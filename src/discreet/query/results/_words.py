"""The columns of an answer in words, for the title of a chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, in_words
from discreet.query.parse._parser import unlogged
from discreet.recursion import with_room

__all__ = ["AnswerWords", "answer_words", "loss_in_symbols"]

_LONGEST_QUERY = 65_536
_SYMBOLS = (("epsilon ", "ε = "), ("delta ", "δ = "), ("rho ", "ρ = "), ("mu ", "μ = "))
_WORDS: Mapping[str, str] = {
    "SUM": "sum of {}",
    "AVG": "average of {}",
    "MEDIAN": "median of {}",
    "MIN": "1 % quantile of {}",
    "MAX": "99 % quantile of {}",
    "MODE": "most frequent {}",
    "STDDEV": "standard deviation of {}",
    "STDDEV_SAMP": "standard deviation of {}",
    "STDDEV_POP": "standard deviation of {}",
    "VARIANCE": "variance of {}",
    "VARIANCE_POP": "variance of {}",
    "CORR": "correlation of {} and {}",
}


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """What the columns of an answer are, which of them count rows, and which rows are read.

    `where` is the outermost WHERE, `levels` the columns that GROUPING gives, `outermost` those by MIN and MAX, which
    are quantiles, `modes` those by MODE, and `windows` those by windows; all are empty if there are none.
    """

    columns: Mapping[str, str]
    counts: frozenset[str]
    levels: frozenset[str] = frozenset()
    where: str = ""
    outermost: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    windows: frozenset[str] = frozenset()


@with_room
def answer_words(certificate: Mapping[str, Any]) -> AnswerWords:
    """The words of the query in a certificate; none where it has no query that can be read."""
    query = certificate.get("query")
    if not isinstance(query, str) or len(query) > _LONGEST_QUERY:
        return AnswerWords({}, frozenset())
    try:
        with unlogged():
            select = parse_one(query, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return AnswerWords({}, frozenset())
    if not isinstance(select, exp.Select):
        return AnswerWords({}, frozenset())
    items = {item.alias_or_name: item.unalias() for item in select.expressions}
    where = select.args.get("where")
    return AnswerWords(
        {name: in_plain_words(item, certificate.get("unit")) for name, item in items.items()},
        frozenset(name for name, item in items.items() if _counted(item, None) is not None),
        frozenset(name for name, item in items.items() if item.find(exp.Grouping) and not item.find(exp.Window)),
        "" if where is None else f"where {_plain(where.this)}",
        tuple(name for name, item in items.items() if isinstance(item, exp.Min | exp.Max)),
        tuple(name for name, item in items.items() if isinstance(_unfiltered(item), exp.Mode)),
        frozenset(name for name, item in items.items() if item.find(exp.Window)),
    )


def in_plain_words(item: exp.Expr, unit: str | None = None) -> str:
    """An aggregate in words, and any other expression as SQL. A value of the column `unit` is a person.

    >>> in_plain_words(parse_one('COUNT(*) FILTER (WHERE "age" > 65)', dialect="duckdb"))
    'number of rows where age > 65'
    >>> in_plain_words(parse_one('SUM("price") / COUNT(*)', dialect="duckdb"))
    'SUM(price) / COUNT(*)'
    """
    when = ""
    if isinstance(item, exp.Filter):
        when = f" where {_plain(item.expression.this)}"
        item = item.this
    counted = _counted(item, unit)
    if counted is not None:
        return counted + when
    if isinstance(item, exp.Func):
        arguments = [
            each for each in (item.args.get("this"), item.args.get("expression")) if isinstance(each, exp.Expr)
        ]
        words = _WORDS.get(item.sql_name())
        if words is not None and words.count("{}") == len(arguments) and all(map(_is_short, arguments)):
            return words.format(*map(_plain, arguments)) + when
    return _plain(item) + when


def _counted(item: exp.Expr, unit: str | None) -> str | None:
    """What a COUNT counts, or None for anything else."""
    item = _unfiltered(item)
    if isinstance(item, exp.CountIf):
        return f"number of rows where {_plain(item.this)}"
    if not isinstance(item, exp.Count):
        return None
    argument = item.this
    if argument is None or isinstance(argument, exp.Star):
        return "number of rows"
    if isinstance(argument, exp.Distinct):
        values = ", ".join(map(_plain, argument.expressions))
        return "number of people" if values == unit else f"number of distinct values of {values}"
    return f"number of rows with {_plain(argument)}"


def _unfiltered(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Filter) else item


def _is_short(argument: exp.Expr) -> bool:
    return len(_plain(argument)) <= 40


def _plain(node: exp.Expr) -> str:
    """The SQL of a node, its columns without quotes and without tables."""
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
    for name in copy.find_all(exp.Identifier):
        name.set("quoted", False)  # noqa: FBT003 — sqlglot's own signature
    return copy.sql(dialect="duckdb")


def loss_in_symbols(loss: Loss) -> str:
    """A budget in the field's symbols; any other loss in words.

    >>> from discreet.privacy import approx
    >>> loss_in_symbols(approx(1, 1e-6))
    'ε = 1, δ = 1e-06'
    """
    text = in_words(loss)
    if isinstance(loss, PureLoss | ApproxLoss | RhoLoss | MuLoss):
        for word, symbol in _SYMBOLS:
            text = text.replace(word, symbol)
    return text
