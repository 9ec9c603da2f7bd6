"""Window functions over released rows: which there are, and where they may stand."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import Texts

__all__ = ["FIRST_ROWS", "RANKS", "SHIFTS", "TOTALS", "check_size", "check_windows", "is_window_function", "windows_of"]

RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile)
SHIFTS = (exp.Lag, exp.Lead)
FIRST_ROWS = (exp.FirstValue, exp.LastValue, exp.NthValue)
TOTALS = (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)

_FUNCTIONS = (
    "ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE, SUM, "
    "COUNT, AVG, MIN, MAX"
)
_MOST_WINDOWS = 50
_MOST_ROWS = 2_000_000
_MOST_DIGITS = 9
_PLACES = {"UNBOUNDED PRECEDING": 0, "PRECEDING": 1, "CURRENT ROW": 2, "FOLLOWING": 3, "UNBOUNDED FOLLOWING": 4}
"""The ends of a frame, from the first row on."""


def windows_of(select: exp.Select) -> dict[str, exp.Window]:
    """The windows of a SELECT by their texts, each once."""
    windows = list(select.find_all(exp.Window))
    texts = Texts(*windows)
    return {texts.text(window): window for window in windows}


def is_window_function(node: exp.Expr) -> bool:
    """Whether a function stands before OVER, perhaps with a FILTER between: it reads released rows, not people's.

    >>> window = exp.maybe_parse("SELECT SUM(COUNT(*)) OVER ()", into=exp.Select).expressions[0]
    >>> is_window_function(window.this), is_window_function(window.this.this)
    (True, False)
    """
    parent = node.parent
    if isinstance(parent, exp.Filter) and node.arg_key == "this":
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and node.arg_key == "this"


def check_windows(select: exp.Select) -> None:
    """Raise `QueryError` for a window that is none over released rows, or that is not understood.

    It may stand in the SELECT list, QUALIFY and ORDER BY, and not in another window or in an aggregate.
    """
    for name, words in (("where", "WHERE"), ("group", "GROUP BY"), ("having", "HAVING")):
        clause = select.args.get(name)
        if clause is not None and (window := clause.find(exp.Window)) is not None:
            raise QueryError(
                f"{_sql(window)} in {words} is not supported: windows are computed over the released rows, after "
                "WHERE, GROUP BY and HAVING; write QUALIFY"
            )
    windows = windows_of(select)
    if len(windows) > _MOST_WINDOWS:
        raise QueryError(f"the query has more than {_MOST_WINDOWS} windows; ask for fewer, or compute with the release")
    for window in windows.values():
        if window.find_ancestor(exp.Window) is not None:
            raise QueryError(f"{_sql(window)} inside another window is not supported; compute it with the release")
        if window.find_ancestor(exp.AggFunc, exp.Filter) is not None:
            raise QueryError(
                f"{_sql(window)} inside an aggregate is not supported: it would read rows of people; compute it with "
                "the release"
            )
        _check_function(window)
        _check_frame(window)


def check_size(select: exp.Select, rows: int) -> None:
    """Raise `QueryError` for windows over more rows, all windows together, than are computed in a few seconds."""
    if (windows := len(windows_of(select))) * rows > _MOST_ROWS:
        raise QueryError(
            f"{windows} windows over {rows:,} groups are more than {_MOST_ROWS:,} rows of windows together; ask for "
            "fewer windows or groups, or compute with the release"
        )


def _check_function(window: exp.Window) -> None:
    function = window.this
    if isinstance(function, exp.IgnoreNulls | exp.RespectNulls):
        raise QueryError(f"{_sql(window)}: IGNORE NULLS is not supported; write COALESCE, or leave it out")
    total = function
    if isinstance(function, exp.Filter):
        total = function.this
        if not isinstance(total, TOTALS):
            raise QueryError(f"{_sql(window)}: FILTER needs one of SUM, COUNT, AVG, MIN and MAX")
    if not isinstance(total, (*RANKS, *SHIFTS, *FIRST_ROWS, *TOTALS)):
        raise QueryError(f"{_sql(window)} is not supported: a window needs one of {_FUNCTIONS}")
    argument = total.this
    if total.expressions or isinstance(argument, exp.Distinct | exp.Order | exp.Limit | exp.HavingMax):
        raise QueryError(f"{_sql(window)} is not supported: write {type(total).__name__.upper()} of one value in OVER")
    if isinstance(total, exp.Ntile | exp.NthValue | exp.Lag | exp.Lead):
        number = argument if isinstance(total, exp.Ntile) else total.args.get("offset")
        least = 0 if isinstance(total, SHIFTS) else 1
        optional = isinstance(total, SHIFTS)
        if not ((number is None and optional) or (number is not None and _is_count(number, least))):
            raise QueryError(f"{_sql(window)} needs a constant whole number of rows, {least} or more")
        default = total.args.get("default")
        if default is not None and any(
            not isinstance(each, exp.Cast) for each in default.find_all(exp.Column, exp.Func)
        ):
            raise QueryError(f"{_sql(window)} needs a constant as its default; for others write COALESCE around it")
    elif isinstance(total, RANKS) and argument is not None:
        raise QueryError(f"{_sql(window)} takes no argument; write what it ranks by in OVER (ORDER BY …)")
    if isinstance(argument, exp.Star) and not isinstance(total, exp.Count):
        raise QueryError(f"{_sql(window)} needs a value of the released rows, such as SUM(COUNT(*)) OVER ()")


def _check_frame(window: exp.Window) -> None:
    """Raise `QueryError` for a frame that is not understood, also where SQL has none of it: of ranks, LAG and LEAD."""
    spec = window.args.get("spec")
    if spec is None:
        return
    if spec.args.get("exclude"):
        raise QueryError(f"{_sql(window)}: EXCLUDE is not supported; write two windows, or compute with the release")
    places = [frame_place(spec, side) for side in ("start", "end")]
    if None in places:
        raise QueryError(
            f"{_sql(window)} is not supported: a frame needs constant whole numbers of rows, as ROWS BETWEEN 3 "
            "PRECEDING AND CURRENT ROW, or RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        )
    first, last = (place[0] for place in places if place is not None)
    if first > last or first == _PLACES["UNBOUNDED FOLLOWING"] or last == _PLACES["UNBOUNDED PRECEDING"]:
        raise QueryError(f"{_sql(window)}: the frame ends before it begins; write its earlier end first")


def frame_place(spec: exp.WindowSpec, side: str) -> tuple[int, int] | None:
    """An end of a frame: which of the five kinds it is of, from the first row on, and how many rows away it lies.

    None for what is not understood: RANGE with a distance, and a distance that is no constant.
    """
    value, direction = spec.args.get(side), str(spec.args.get(f"{side}_side") or "").upper()
    if value is None and side == "end":
        return _PLACES["CURRENT ROW"], 0
    if isinstance(value, str):
        words = value.upper() if value.upper() == "CURRENT ROW" else f"{value.upper()} {direction}"
        return (_PLACES[words], 0) if words in _PLACES else None
    rows = str(spec.args.get("kind")).upper() == "ROWS"
    if rows and isinstance(value, exp.Expr) and _is_count(value, 0) and direction in _PLACES:
        return _PLACES[direction], int(value.name)
    return None


def _is_count(node: exp.Expr, least: int) -> bool:
    if not isinstance(node, exp.Literal) or node.is_string or not (node.name.isascii() and node.name.isdecimal()):
        return False
    return len(node.name) <= _MOST_DIGITS and int(node.name) >= least


def _sql(window: exp.Window) -> str:
    return window.sql(dialect="duckdb")
