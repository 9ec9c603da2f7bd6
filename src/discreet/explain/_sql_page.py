"""The tables of ``docs/sql.md``, made from what the planner itself reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discreet.query import FUNCTIONS, PAIRS, REFUSED, STATISTICS

__all__ = ["sql_page"]

_QUANTILES = (
    ("MEDIAN(x)", "a quantile, drawn from the counts of a public grid"),
    (
        "QUANTILE_CONT(x, p)",
        "also QUANTILE_DISC, APPROX_QUANTILE, PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x); several p as a list",
    ),
    ("MIN(x), MAX(x)", "the 1 % and the 99 % quantiles"),
)


def sql_page(page: str) -> str:
    """The page with its tables of statistics, functions and refusals made anew; a page without them stays as it is.

    >>> "| `ABS(x)` |" in sql_page("<!-- functions --><!-- end -->")
    True
    """
    tables = {"statistics": _statistics(), "functions": _functions(), "refused": _refused()}
    return re.sub(
        r"<!-- (statistics|functions|refused) -->.*?<!-- end -->",
        lambda found: f"<!-- {found[1]} -->\n{tables[found[1]]}\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )


def _statistics() -> str:
    rows = [("COUNT(*)", "rows that count"), ("COUNT(DISTINCT x)", "distinct values; of the person's column, people")]
    for name in dict.fromkeys(STATISTICS.values()):
        if name in PAIRS:
            rows.append((f"{name}(y, x)", "over rows where neither is null, from " + _moments(PAIRS[name])))
        elif name == "COUNT_IF":
            rows.append(("COUNT_IF(a)", "rows that satisfy a; any statistic takes FILTER (WHERE a)"))
        else:
            rows.append((f"{name}(x)", _ALONE.get(name, "from the count, the sum and the sum of squares")))
    return _table(("statistic", "is"), [*rows, *_QUANTILES])


_ALONE = {
    "COUNT": "rows where x is not null",
    "SUM": "an exact sum on the grid of x",
    "AVG": "a sum about the middle of the bounds, by a count",
}


def _moments(needs: str) -> str:
    """What an aggregate of pairs is read off, from its entry in `PAIRS`."""
    sums = [axis for axis in "xy" if axis in needs]
    sums += ["·".join(pair) for pair in needs.split() if len(pair) > 1]
    return f"the count and the sums of {', '.join(sums)}" if sums else "the count"


def _functions() -> str:
    rows = [
        (each.signature, each.does + _also(each.names, each.signature), each.bounds, each.nulls) for each in FUNCTIONS
    ]
    return _table(("function", "is", "bounds", "null"), rows)


def _refused() -> str:
    lines = ["| refused | because, and what to ask instead |", "|---|---|"]
    return "\n".join([*lines, *(f"| {each.written} | {each.why} |".replace("*", "\\*") for each in REFUSED)])


def _also(names: tuple[str, ...], signature: str) -> str:
    others = [name for name in names[1:] if name not in signature]
    return f"; also {', '.join(others)}" if others else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for first, *rest in rows:
        cells = (f"`{first}`".replace("|", "\\|"), *(cell.replace("|", "\\|") for cell in rest))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
