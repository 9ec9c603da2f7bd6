"""What is refused, and what to write instead: the only list of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

__all__ = ["REFUSED", "Refused", "because"]


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that is refused, as people write it, and why or what to ask instead.

    `names` are those of the parser's nodes and of its clauses, or first words of a statement.
    """

    written: str
    why: str
    names: tuple[str, ...] = ()


REFUSED = (
    Refused(
        "SELECT *, a column outside GROUP BY",
        "rows about people are never released; ask for a COUNT, a SUM or an AVG",
        ("STAR",),
    ),
    Refused(
        "STRING_AGG, LIST, ARRAY_AGG, HISTOGRAM_NUMERIC(x, k), and HISTOGRAM(x) beside other statistics",
        "it would release the values of single people; write SELECT x, COUNT(*) … GROUP BY x",
        ("GROUPCONCAT", "ARRAYAGG", "HISTOGRAM", "HISTOGRAMNUMERIC", "JSONGROUPARRAY", "STRINGAGG", "LISTAGG"),
    ),
    Refused(
        "FIRST, LAST, ANY_VALUE, ARG_MIN, ARG_MAX",
        "it would release the value of one person; ask for a MEDIAN, or for COUNT(*) by the value",
        ("FIRST", "LAST", "FIRSTVALUE", "LASTVALUE", "ANYVALUE", "IGNORENULLS", "ARGMIN", "ARGMAX", "ARBITRARY"),
    ),
    Refused(
        "MODE of a column without public values, in a sub-query, or of more than one x",
        "a value is picked from those that the policy lists; write MODE(x) of one x with keys, or "
        "SELECT x, COUNT(*) … GROUP BY x ORDER BY COUNT(*) DESC LIMIT 1",
        ("MODE",),
    ),
    Refused(
        "BOOL_AND, BOOL_OR",
        "one person can decide it; write COUNT_IF(a) beside COUNT(*)",
        ("LOGICALAND", "LOGICALOR", "BOOLAND", "BOOLOR", "EVERY"),
    ),
    Refused(
        "KURTOSIS, SKEWNESS, ENTROPY, MAD, PRODUCT and other aggregates",
        "ask for VARIANCE, STDDEV or quantiles, which say how values are spread",
        ("KURTOSIS", "SKEWNESS", "ENTROPY", "MAD", "PRODUCT", "GEOMEAN", "BITWISEANDAGG", "BITWISEORAGG"),
    ),
    Refused(
        "APPROX_TOP_K(x, k), APPROX_COUNT_DISTINCT(x, accuracy)",
        "write GROUP BY x ORDER BY COUNT(*) DESC LIMIT k, or COUNT(DISTINCT x): both are approximate anyway",
        ("APPROXDISTINCT", "APPROXTOPK", "APPROXTOPSUM"),
    ),
    Refused(
        "SUM(DISTINCT x), AVG(DISTINCT x), COUNT(DISTINCT x, y)",
        "write COUNT(DISTINCT x) of one x, or leave DISTINCT out",
        ("DISTINCT",),
    ),
    Refused(
        "SUM, AVG or a quantile of a column without `bounds`", "one person could move it without limit; declare bounds"
    ),
    Refused("grouping by numbers that are not whole", "they have no groups; write FLOOR(x) or WIDTH_BUCKET"),
    Refused("private keys without a δ", "discovering a key needs one: spend dp.approx or dp.rho with a δ"),
    Refused(
        "OVER and QUALIFY over rows of people: in a sub-query, or without groups",
        "windows are computed over released rows, which is free; write GROUP BY, and windows in the outermost SELECT",
        ("WINDOW", "QUALIFY", "WINDOWS"),
    ),
    Refused(
        "sub-queries in LIMIT, and in HAVING and ORDER BY over other rows than released or public ones",
        "ask for the value in a query of its own, and write what it released in its place",
        ("SUBQUERY",),
    ),
    Refused(
        "NOT IN (SELECT …), ANY and ALL inside OR, CASE or an aggregate",
        "write a condition of WHERE that all rows have to satisfy, or a LEFT JOIN with a sub-query by the person",
        ("EXISTS",),
    ),
    Refused(
        "sub-queries over other people's rows",
        "each row would depend on everybody; ask for the value in a query of its own, and bind what it released",
    ),
    Refused(
        "CROSS JOIN, a comma between tables, without an equality that ties them",
        "one person could touch any number of rows; write WHERE a.person = b.person",
        ("CROSS",),
    ),
    Refused("POSITIONAL JOIN", "rows have no order; name the columns: JOIN … USING (person)", ("POSITIONAL",)),
    Refused(
        "RIGHT JOIN beside a comma or CROSS JOIN",
        "turn its tables round and write LEFT JOIN, or put the two into a sub-query",
    ),
    Refused("FULL JOIN", "write LEFT JOIN, which keeps what is on the private side", ("FULL",)),
    Refused(
        "SEMI and ANTI JOIN with other people's rows",
        "what is left would depend on them; compare the person, or the columns of a path",
        ("SEMI", "ANTI"),
    ),
    Refused("ASOF and LATERAL JOIN", "rows of different people could meet; join on the person", ("ASOF", "LATERALS")),
    Refused("joins of different people's rows", "one person could touch any number of rows; join on the person"),
    Refused("a public table on the left of LEFT JOIN", "it would show which of its rows have nobody; turn it round"),
    Refused(
        "aggregates and joins of a sub-query that groups by what several people share",
        "its rows would depend on them; add the person, or the key of what has one owner, to its GROUP BY",
    ),
    Refused(
        "ORDER BY, LIMIT and OFFSET in a sub-query",
        "which rows are left would depend on other people; use WHERE",
        ("ORDER", "LIMIT", "OFFSET"),
    ),
    Refused("UNION, INTERSECT, EXCEPT", "rows of different people would meet; write UNION ALL", ("UNION",)),
    Refused(
        "UNION, INTERSECT and EXCEPT of what is no release",
        "write statistics on each side: SELECT k, COUNT(*) … GROUP BY k UNION ALL SELECT …",
        ("ANSWERS",),
    ),
    Refused(
        "GROUPING SETS, ROLLUP and CUBE in a sub-query; more than 64 sets, or one of them twice",
        "each set has a share of the spend; group in the outermost SELECT, by the sets that you need",
        ("ROLLUP", "CUBE", "GROUPINGSETS", "GROUPING"),
    ),
    Refused("WITH RECURSIVE", "its size has no bound; write the steps out as joins", ("RECURSIVE",)),
    Refused(
        "samples of rows",
        "a sample of the caller's making would be charged as the whole; leave it out",
        ("SAMPLE",),
    ),
    Refused(
        "UNPIVOT, and two PIVOTs of one table",
        "write a SELECT for each column, with UNION ALL between them, or a PIVOT of a sub-query",
        ("PIVOTS", "UNPIVOT"),
    ),
    Refused(
        "files, table functions, schemas: read_csv('…'), information_schema",
        "only the tables of the policy can be read; name one of them",
        ("TABLE",),
    ),
    Refused(
        "regular expressions that look ahead or name a group again, or on PostgreSQL and Spark",
        "one text could keep a matcher busy for ever; use plain ones on DuckDB, or LIKE and CONTAINS",
    ),
    Refused(
        "functions of chance or of the time of day",
        "an expression must be total, and the same each time; use constants",
    ),
    Refused(
        "CAST of an aggregate to anything but DOUBLE and DECIMAL, or of ROUND(x) to BIGINT",
        "released numbers are doubles or 64-bit integers already; use ROUND, or convert the release",
        ("CAST", "TRYCAST"),
    ),
    Refused("a // b of aggregates", "write ROUND(a / b)", ("DIVIDE",)),
    Refused(
        "a comparison or a text made of aggregates: COUNT(*) > 10",
        "write CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END, or HAVING",
        ("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "AND", "OR", "NOT", "CONCAT", "DPIPE", "LITERAL"),
    ),
    Refused("EXPLAIN", "Session.plan(query).explain() says what a query would do, and costs nothing", ("EXPLAIN",)),
    Refused(
        "SHOW, DESCRIBE, SUMMARIZE, PRAGMA",
        "the policy says which tables and columns there are",
        ("SHOW", "DESCRIBE", "DESC", "SUMMARIZE", "PRAGMA"),
    ),
    Refused(
        "INSERT, UPDATE, DELETE, CREATE, DROP, ATTACH, COPY, SET and all other statements",
        "a source is only read, by one SELECT",
        ("INSERT",),
    ),
)

_BY_NAME: Mapping[str, str] = {name: each.why for each in REFUSED for name in each.names}


def because(asked: exp.Expr | str) -> str | None:
    """Why a node, or a clause by its name, is refused, and what to ask instead; None if the list does not say.

    >>> because("pivots")
    'write a SELECT for each column, with UNION ALL between them, or a PIVOT of a sub-query'
    """
    if isinstance(asked, str):
        return _BY_NAME.get(asked.upper().replace("_", ""))
    name = asked.name if isinstance(asked, exp.Anonymous | exp.AnonymousAggFunc) else type(asked).__name__
    return because(name)
