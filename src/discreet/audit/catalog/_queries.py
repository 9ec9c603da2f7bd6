"""The SQL statistics that have landed, each with a query and a pair of databases that tries it hardest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from discreet.audit.catalog._tables import over_tables
from discreet.audit.sql._entry import Pair, SqlEntry
from discreet.policy import Policy, load_policy
from discreet.privacy import approx, mu, pure, rho

__all__ = ["sql_entries"]

Rows = Sequence[tuple[Any, ...]]


def sql_entries() -> tuple[SqlEntry, ...]:
    """Every entry, by name once.

    Costs no privacy: the databases are made up.

    >>> [entry.name for entry in sql_entries() if entry.text == "SELECT COUNT(*) AS n FROM t"][:2]
    ['COUNT(*)', 'COUNT(*), rho']
    """
    return (
        *_whole_tables(),
        *_moments(),
        *_people(),
        *_chosen_caps(),
        *_public_keys(),
        *_private_keys(),
        *_substitutes(),
        *_quantiles(),
        *_modes(),
        *_first_keys(),
        *over_tables(),
    )


_COLUMNS: dict[str, dict[str, Any]] = {
    "x": {"type": "int", "bounds": [0, 10]},
    "y": {"type": "float", "bounds": [-5, 10]},
    "d": {"type": "decimal", "bounds": ["-0.5", "2.5"]},
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "i": {"type": "int", "keys": [1, 2, 3]},
    "q": {"type": "string"},
}
_SCHEMA = pa.schema(
    [
        ("u", pa.int64()),
        ("x", pa.int64()),
        ("y", pa.float64()),
        ("d", pa.float64()),
        ("k", pa.string()),
        ("i", pa.int64()),
        ("q", pa.string()),
    ]
)

_CROWD: Rows = [(100 + i, 5, 2.0, 1.0, "a", 1, "crowd") for i in range(8)]
"""Eight people in the middle of the bounds, so that noisy averages are seldom cut off at their ends."""


def _tables(*parts: Rows) -> dict[str, pa.Table]:
    rows = [row for part in parts for row in part]
    columns = {name: [row[j] for row in rows] for j, name in enumerate(_SCHEMA.names)}
    return {"t": pa.table(columns, schema=_SCHEMA)}


def _policy(relation: str = "add_remove", **table: Any) -> Policy:
    definition = {"unit": "rows", **table, "columns": _COLUMNS}
    return load_policy({"version": "1", "relation": relation, "tables": {"t": definition}})


def _removed(*unit: tuple[Any, ...]) -> Pair:
    """The crowd with one more unit, and without."""
    return _tables(_CROWD, unit), _tables(_CROWD)


def _replaced(unit: Rows, other: Rows) -> Pair:
    """The crowd with one more unit, and with another in its place."""
    return _tables(_CROWD, unit), _tables(_CROWD, other)


_TOP = (1, 10, 10.0, 2.5, "a", 1, "crowd")
"""A row of person 1 at every upper bound."""

_EPSILON, _RHO, _MU = pure(1), rho("0.125"), mu("0.5")


def _whole_tables() -> Iterator[SqlEntry]:
    """Every row is another person, and there are no groups."""
    entry = partial(SqlEntry, policy=_policy(), spend=_EPSILON, pair=_removed(_TOP))
    count, total, mean = "SELECT COUNT(*) AS n FROM t", "SELECT SUM(x) AS s FROM t", "SELECT AVG(x) AS a FROM t"
    infinite = _removed((1, 10, math.inf, math.inf, "a", 1, "crowd"))
    yield entry("COUNT(*)", count, note="one row more or less")
    yield entry("COUNT(*), rho", count, spend=_RHO, note="discrete Gaussian noise")
    yield entry("COUNT(*), mu", count, spend=_MU, note="rounded Gaussian noise")
    yield entry("COUNT(*), approx", count, spend=approx(1, 1e-6), note="a delta without use is not charged")
    yield entry("COUNT(*), nobody left", count, pair=(_tables([_TOP]), _tables()), note="an empty table answers too")
    yield entry("COUNT(x)", "SELECT COUNT(x) AS n FROM t", note="a value that is not null")
    yield entry("COUNT of an expression", "SELECT COUNT(x / y) AS n FROM t", note="null where the divisor is zero")
    yield entry("SUM, int", total, note="at the upper bound; steps of 1")
    yield entry("SUM, float", "SELECT SUM(y) AS s FROM t", pair=infinite, note="an infinity is clamped")
    yield entry("SUM, decimal", "SELECT SUM(d) AS s FROM t", note="at the upper bound, on the grid")
    yield entry("SUM, rho", total, spend=_RHO, note="discrete Gaussian noise")
    yield entry("SUM, mu", "SELECT SUM(y) AS s FROM t", spend=_MU, note="rounded Gaussian noise on the grid")
    yield entry("SUM of an expression", "SELECT SUM(x * y) AS s FROM t", note="both factors at their upper bounds")
    yield entry("AVG, int", mean, note="the bound moves the centred sum and the count")
    yield entry("AVG, float", "SELECT AVG(y) AS a FROM t", note="the bound moves the centred sum and the count")
    yield entry("AVG, rho", mean, spend=_RHO, note="two discrete Gaussians")
    yield entry("AVG, mu", mean, spend=_MU, note="two rounded Gaussians")
    yield entry("COUNT, SUM and AVG", "SELECT COUNT(x) AS n, SUM(x) AS s, AVG(x) AS a FROM t", note="two measures")
    yield entry("a ratio", "SELECT SUM(x) / COUNT(*) AS r FROM t", note="its slopes tell both noisy measures")
    yield entry("a share", "SELECT 100 * COUNT(x) / COUNT(*) AS r FROM t", note="its slopes tell both noisy measures")
    yield entry("a product", "SELECT COUNT(*) * COUNT(x) AS r FROM t", note="its slopes are the two factors")
    yield entry(
        "a difference",
        "SELECT 2 * SUM(x) - COUNT(*) AS r FROM t",
        note="one number of two noises tells less than both: an audit certifies less than the claim",
    )
    yield entry(
        "WHERE",
        "SELECT COUNT(*) AS n, SUM(x) AS s FROM t WHERE x > 5 AND k = 'a'",
        note="only the row that is removed satisfies the condition",
    )


def _moments() -> Iterator[SqlEntry]:
    """Statistics that are read off several noisy sums: a row at every upper bound moves all of them."""
    entry = partial(SqlEntry, policy=_policy(), spend=_EPSILON, pair=_removed(_TOP))
    for name in ("VARIANCE", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP"):
        yield entry(name, f"SELECT {name}(x) AS v FROM t", note="count, sum and squares move")  # noqa: S608
    yield entry("VAR_POP, rho", "SELECT VAR_POP(y) AS v FROM t", spend=_RHO, note="three discrete Gaussians")
    for name in (
        *("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY"),
        *("REGR_SXX", "REGR_SYY", "REGR_SXY", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"),
    ):
        yield entry(name, f"SELECT {name}(y, x) AS v FROM t", note="every moment moves")  # noqa: S608
    yield entry("COUNT(DISTINCT x)", "SELECT COUNT(DISTINCT x) AS n FROM t", note="a value that nobody else has")
    yield entry("COUNT_IF", "SELECT COUNT_IF(x > 5) AS n FROM t", note="only the row that is removed satisfies it")
    yield entry(
        "FILTER",
        "SELECT SUM(x) FILTER (WHERE x > 5) AS s, COUNT(*) FILTER (WHERE y > 5) AS n FROM t",
        note="only the row that is removed satisfies either condition",
    )
    yield entry(
        "functions of aggregates",
        "SELECT ROUND(ABS(SQRT(COUNT(*))), 2) AS r, CASE WHEN COUNT(*) > 0 THEN COUNT(*) END AS c, "
        "COALESCE(COUNT(*), 0) AS f, GREATEST(COUNT(*), 5) AS g, LEAST(COUNT(*), 50) AS l FROM t",
        note="all are functions of one noisy count",
    )


def _people() -> Iterator[SqlEntry]:
    """A person has up to three rows that count, and eight in the table."""
    entry = partial(
        SqlEntry,
        policy=_policy(unit="u", max_rows=3),
        spend=_EPSILON,
        pair=_removed(*[_TOP] * 8),
        note="8 rows, 3 count",
    )
    yield entry("COUNT(*) of a person with many rows", "SELECT COUNT(*) AS n FROM t")
    yield entry("COUNT(x) of a person with many rows", "SELECT COUNT(x) AS n FROM t")
    yield entry("SUM of a person with many rows", "SELECT SUM(x) AS s FROM t")
    yield entry("AVG of a person with many rows", "SELECT AVG(x) AS a FROM t")
    yield entry("WHERE of a person with many rows", "SELECT COUNT(*) AS n FROM t WHERE y >= 10")
    yield entry("VAR_POP of a person with many rows", "SELECT VAR_POP(x) AS v FROM t")
    yield entry("COUNT(DISTINCT person)", "SELECT COUNT(DISTINCT u) AS n FROM t", note="8 rows, 1 person")
    over = partial(entry, samples=400)  # each output runs SQL of its own
    yield over("UNION ALL of two releases", "SELECT COUNT(*) AS n FROM t UNION ALL SELECT SUM(x) FROM t WHERE y >= 10")
    yield over("aggregate of a release", "SELECT SUM(n) AS n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS g")
    yield over("PIVOT", "SELECT * FROM (SELECT k, x FROM t) PIVOT (SUM(x) FOR k IN ('a', 'b', 'c'))")
    values = [(1, x, 10.0, 2.5, "abc"[x % 3], 1, "crowd") for x in (0, 1, 2, 3, 6, 7, 8, 9)]
    entry = partial(entry, pair=_removed(*values), note="8 values that nobody else has, 3 count")
    yield entry("COUNT(DISTINCT x) of a person with many rows", "SELECT COUNT(DISTINCT x) AS n FROM t")
    yield entry("COUNT(DISTINCT x) by public keys", "SELECT k, COUNT(DISTINCT x) AS n FROM t GROUP BY k")
    yield entry(
        "COUNT(DISTINCT person) by public keys",
        "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k",
        policy=_policy(unit="u", max_rows=3, max_groups=1),
        note="8 rows in 3 groups, 1 counts",
    )


def _chosen_caps() -> Iterator[SqlEntry]:
    """A query that chooses its cap: a person with eight rows is in another of the counts that choose it."""
    entry = partial(
        SqlEntry,
        policy=_policy(unit="u", max_rows="auto"),
        spend=_EPSILON,
        pair=_removed(*[_TOP] * 8),
        note="the counts that choose the cap move by one, and the answer by as many rows as the cap",
        samples=10_000,
    )
    yield entry("COUNT(*) under a chosen cap", "SELECT COUNT(*) AS n FROM t")
    yield entry("SUM and AVG under a chosen cap", "SELECT SUM(x) AS s, AVG(x) AS a FROM t")
    yield entry("COUNT(*) by public keys under a chosen cap", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    yield entry("COUNT(*) under a chosen cap, rho", "SELECT COUNT(*) AS n FROM t", spend=_RHO)


def _public_keys() -> Iterator[SqlEntry]:
    """Groups by keys that the policy lists."""
    many = [(1, 10, 10.0, 2.5, key, i, "crowd") for i, key in enumerate("aaaaaabcc", start=1)]
    entry = partial(SqlEntry, policy=_policy(), spend=_EPSILON, pair=_removed(_TOP))
    person = partial(entry, policy=_policy(unit="u", max_rows=3), pair=_removed(*[_TOP] * 8))
    capped = partial(person, policy=_policy(unit="u", max_rows=3, max_groups=2), pair=_removed(*many))
    count = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
    alone = _removed((1, 10, 10.0, 2.5, "c", 3, "crowd"))
    yield entry("COUNT(*) by public keys", count, note="one row more or less in one group")
    yield entry("COUNT(*) by public keys, alone", count, pair=alone, note="the only row of a key; the key stays")
    yield entry("COUNT(*) by public keys, rho", count, spend=_RHO, note="discrete Gaussian noise in each group")
    yield entry("SUM by public keys", "SELECT k, SUM(x) AS s FROM t GROUP BY k", note="at the upper bound")
    yield entry("AVG by public keys", "SELECT k, AVG(x) AS a FROM t GROUP BY k", note="at the upper bound")
    yield entry("a key as a factor", "SELECT i, i * COUNT(*) AS n FROM t GROUP BY i", note="the factor is public")
    yield entry("two public keys", "SELECT k, i, COUNT(*) AS n FROM t GROUP BY k, i", note="nine groups")
    yield entry(
        "ROLLUP of public keys", "SELECT k, SUM(x) AS s FROM t GROUP BY ROLLUP (k)", note="half of epsilon for each set"
    )
    yield entry(
        "HAVING", "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > 0", pair=alone, note="on noisy counts"
    )
    yield entry(
        "ORDER BY and LIMIT",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 2",
        note="the order is that of the noisy counts; the least group is not shown",
    )
    yield entry(
        "ORDER BY and OFFSET",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1 OFFSET 1",
        note="the order is that of the noisy counts; the middle group alone is shown",
    )
    yield entry(
        "QUALIFY",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2",
        note="the ranks are those of the noisy counts; the least group is not shown",
    )
    yield entry(
        "a window",
        "SELECT k, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY k) AS s FROM t GROUP BY k",
        note="running totals of the noisy counts tell no more than these do",
    )
    yield person("COUNT(*) by public keys, a person in one group", count, note="8 rows, 3 count, in one group")
    yield capped("COUNT(*) by public keys, a person in all groups", count, note="9 rows, 3 count, in 2 groups at most")
    yield capped(
        "SUM and COUNT by public keys, a person in all groups",
        "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k",
        note="9 rows, 3 count, in 2 groups at most",
    )


def _private_keys() -> Iterator[SqlEntry]:
    """Groups by keys that are discovered, at a delta large enough to be seen."""
    spends = {"approx": approx(1, "0.05"), "rho": rho("0.125", "0.05"), "mu": mu("0.5", "0.05")}
    mine = [(1, 10, 10.0, 2.5, "a", 1, key) for key in ("mine", "mine", "my own", "my own", "mine only", "crowd")]
    count = "SELECT q, COUNT(*) AS n FROM t GROUP BY q"
    rows, people = _policy(), _policy(unit="u", max_rows=3, max_groups=2)
    entry = partial(SqlEntry, policy=rows, spend=spends["approx"], pair=_removed(mine[0]))
    for name, spend in spends.items():
        yield entry(f"private keys, {name}, alone", count, spend=spend, note="a key of one unit is shown with delta")
        yield entry(
            f"private keys, {name}", count, spend=spend, pair=_few(3), note="one unit more, where a key is often shown"
        )
    yield entry("private keys without aggregates", "SELECT q FROM t GROUP BY q", pair=_few(3), note="discovery alone")
    yield entry("AVG by private keys", "SELECT q, AVG(x) AS a FROM t GROUP BY q", pair=_few(5), note="at the bound")
    yield entry("public and private keys", "SELECT k, q, COUNT(*) AS n FROM t GROUP BY k, q", note="every key is found")
    yield entry(
        "ROLLUP of private keys", "SELECT q, COUNT(*) AS n FROM t GROUP BY ROLLUP (q)", note="one set has all of delta"
    )
    yield entry("private keys of many rows", count, policy=people, pair=_removed(*mine), note="two keys count, 3 rows")


def _few(others: int) -> Pair:
    """So many people with a key of their own beside the crowd, and one of them at every upper bound."""
    rest = [(200 + i, 5, 2.0, 1.0, "a", 1, "few") for i in range(others)]
    return _tables(_CROWD, rest, [(1, 10, 10.0, 2.5, "a", 1, "few")]), _tables(_CROWD, rest)


def _substitutes() -> Iterator[SqlEntry]:
    """A unit's rows are others; the number of units is public."""
    low = (1, 0, -5.0, -0.5, "c", 3, "mine")
    rows = _replaced([_TOP], [low])
    entry = partial(SqlEntry, policy=_policy("substitute"), spend=_EPSILON, pair=rows)
    person = partial(
        entry, policy=_policy("substitute", unit="u", max_rows=3), pair=_replaced([_TOP] * 8, [low] * 8), note="3 of 8"
    )
    yield entry("COUNT(*) WHERE, substitute", "SELECT COUNT(*) AS n FROM t WHERE x > 5", note="in or out of WHERE")
    yield entry("SUM, substitute", "SELECT SUM(y) AS s FROM t", note="from one bound to the other")
    yield entry(
        "AVG, substitute",
        "SELECT AVG(y) AS a FROM t",
        pair=_replaced([_TOP], [(1, 0, None, -0.5, "c", 3, "mine")]),
        note="from a bound to null: no value moves the centred sum and the count as far as each can go",
        tight=False,
    )
    yield entry("COUNT(*) by public keys, substitute", "SELECT k, COUNT(*) AS n FROM t GROUP BY k", note="two groups")
    yield entry(
        "private keys, substitute",
        "SELECT q, COUNT(*) AS n FROM t GROUP BY q",
        spend=approx(1, "0.05"),
        note="one key of the crowd loses a unit, and a new one has one",
    )
    yield person("SUM of a person with many rows, substitute", "SELECT SUM(y) AS s FROM t")
    yield person("COUNT(*) by public keys of a person, substitute", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")


def _quantiles() -> Iterator[SqlEntry]:
    """Quantiles move with every row that counts, in whatever group it is."""
    many = [(1, 10, 10.0, 2.5, key, i, "crowd") for i, key in enumerate("aaaaaabcc", start=1)]
    entry = partial(SqlEntry, policy=_policy(), spend=_EPSILON, pair=_removed(_TOP))
    median = "SELECT MEDIAN(x) AS m FROM t"
    yield entry("MEDIAN", median, note="one row more, above the others")
    yield entry("MEDIAN, rho", median, spend=_RHO, note="bounded range, at its price in rho")
    dear = "bounded range, at its price in mu, which is that of all bounded ranges: this one tells less"
    yield entry("MEDIAN, mu", median, spend=_MU, note=dear, tight=False)
    for name in ("QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_QUANTILE"):
        yield entry(name, f"SELECT {name}(y, 0.75) AS m FROM t", note="one row more, above the others")  # noqa: S608
    within = "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY d) AS m FROM t"
    yield entry("PERCENTILE_CONT", within, note="one row more, above the others")
    only = "SELECT MEDIAN(x) FILTER (WHERE x > 5) AS m FROM t"
    yield entry("MEDIAN with FILTER", only, note="only the row that is removed satisfies the condition")
    yield entry(
        "MEDIAN of a person with many rows",
        median,
        policy=_policy(unit="u", max_rows=3),
        pair=_removed(*[_TOP] * 8),
        note="8 rows, 3 count: three moves",
    )
    yield entry(
        "MEDIAN by private keys",
        "SELECT q, MEDIAN(x) AS m FROM t GROUP BY q",
        spend=approx(1, "0.05"),
        pair=_few(5),
        note="one row more, above the others",
    )
    day = "CASE WHEN x > 5 THEN DATE '2024-01-31' ELSE DATE '2024-01-01' END"
    yield entry("MEDIAN of dates", f"SELECT MEDIAN({day}) AS m FROM t", note="one row more, after the others")  # noqa: S608
    yield entry("MIN, MEDIAN and MAX", "SELECT MIN(x) AS a, MEDIAN(x) AS m, MAX(x) AS b FROM t", note="drawn jointly")
    yield entry(
        "MEDIAN by public keys, a person in all groups",
        "SELECT k, MEDIAN(x) AS m FROM t GROUP BY k",
        policy=_policy(unit="u", max_rows=3, max_groups=2),
        pair=_removed(*many),
        note="9 rows, 3 count, in 2 groups at most: their rates add up",
    )
    yield entry(
        "MEDIAN, substitute",
        median,
        policy=_policy("substitute"),
        pair=_replaced([_TOP], [(1, 0, -5.0, -0.5, "c", 3, "mine")]),
        note="one row above the others becomes one below: two moves",
    )


def _modes() -> Iterator[SqlEntry]:
    """Modes move with every row that counts, in whatever group it is, as quantiles do."""
    many = [(1, 10, 10.0, 2.5, key, i, "crowd") for i, key in enumerate("aaaaaabcc", start=1)]
    few = _tables([_TOP]), _tables()
    entry = partial(SqlEntry, policy=_policy(), spend=_EPSILON, pair=few)
    mode = "SELECT MODE(x > 5) AS m FROM t"
    yield entry("MODE", mode, note="the only row, or none: the other value is rarer by e, or as likely")
    yield entry("MODE, rho", mode, spend=_RHO, note="the exponential mechanism, of bounded range, at its price in rho")
    dear = "bounded range, at its price in mu, which is that of all bounded ranges: this one tells less"
    yield entry("MODE, mu", mode, spend=_MU, note=dear, tight=False)
    yield entry("MODE of a text", "SELECT MODE(k) AS m FROM t", note="the only row, of three public values")
    yield entry(
        "MODE with FILTER",
        "SELECT MODE(i) FILTER (WHERE x > 5) AS m, MODE(x) AS n FROM t",
        pair=_removed(_TOP),
        note="only the row that is removed satisfies the condition",
    )
    yield entry(
        "MODE of a person with many rows",
        mode,
        policy=_policy(unit="u", max_rows=3),
        pair=(_tables([_TOP] * 8), _tables()),
        note="8 rows, 3 count: three moves",
    )
    yield entry(
        "MODE by private keys",
        "SELECT q, MODE(x > 5) AS m FROM t GROUP BY q",
        spend=approx(1, "0.05"),
        pair=_few(5),
        note="one row more, of another value",
    )
    yield entry(
        "MODE by public keys, a person in all groups",
        "SELECT k, MODE(x > 5) AS m FROM t GROUP BY k",
        policy=_policy(unit="u", max_rows=3, max_groups=2),
        pair=(_tables(many), _tables()),
        note="9 rows, 3 count, in 2 groups at most: their rates add up",
    )
    low = (1, 0, -5.0, -0.5, "c", 3, "mine")
    yield entry(
        "MODE, substitute",
        mode,
        policy=_policy("substitute"),
        pair=(_tables([(2, *_TOP[1:]), _TOP]), _tables([(2, *_TOP[1:]), low])),
        note="one row of a value becomes one of the other: two moves",
    )


def _first_keys() -> Iterator[SqlEntry]:
    """Keys that are chosen before noise."""
    yield SqlEntry(
        "ORDER BY and LIMIT of people, a choice of keys",
        "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1",
        _policy(unit="u", max_rows=3),
        _EPSILON,
        _removed(*[(1, 10, 10.0, 2.5, key, 1, "crowd") for key in "aabbccaa"]),
        note="in every group once: the choice loses less than its half, as all counts move alike",
        samples=8_000,
    )
