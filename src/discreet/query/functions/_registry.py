"""The functions and operators of row-level expressions: this table is the only list of them.

Each is total: no row, whatever it holds, makes an engine raise. What is undefined is null, and so is what is not a
number; an overflow is an infinity.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions import _calls
from discreet.query.functions._calls import Call, read
from discreet.query.functions._casts import CASTS, INTEGERS
from discreet.query.functions._conditionals import CHOICES, CONDITIONS
from discreet.query.functions._dates import DATES
from discreet.query.functions._numbers import NUMBERS
from discreet.query.functions._regular_expressions import REGULAR_EXPRESSIONS
from discreet.query.functions._spec import Function
from discreet.query.functions._text import TEXTS

__all__ = ["FUNCTIONS", "arguments_read", "exact_branches", "find", "near_name", "refusal"]

FUNCTIONS: tuple[Function, ...] = (*CONDITIONS, *CHOICES, *CASTS, *NUMBERS, *DATES, *TEXTS, *REGULAR_EXPRESSIONS)

_BY_NAME: Mapping[str, Function] = {entry.names[0]: entry for entry in FUNCTIONS}
_SPELLINGS: Mapping[str, str] = {name: entry.names[0] for entry in FUNCTIONS for name in entry.names}
_VOLATILE = {
    "RANDOM", "RAND", "NOW", "CURRENTDATE", "CURRENTTIME", "CURRENTTIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "TODAY",
    "UUID", "GENRANDOMUUID", "GETCURRENTTIMESTAMP", "TRANSACTIONTIMESTAMP", "CURRVAL", "NEXTVAL",
}  # fmt: skip
_INSTEAD: Mapping[str, str] = {
    "TRANSLATE": "use REPLACE",
    **dict.fromkeys(("REGEXPEXTRACTALL", "REGEXPSPLIT", "REGEXPSPLITTOARRAY"), "use REGEXP_EXTRACT, for one text"),
    **dict.fromkeys(("REGEXPLIKE", "REGEXPILIKE", "REGEXPREPLACE"), "use REGEXP_MATCHES, REGEXP_REPLACE, or LIKE"),
    "GLOB": "use LIKE or ILIKE",
    "ESCAPE": "use CONTAINS or STARTS_WITH for a text that holds % or _",
    "PAD": "it makes texts of any length; use CONCAT",
    "REPEAT": "it makes texts of any length; use CONCAT",
    **dict.fromkeys(("CONCATWS", "FORMAT", "PRINTF"), "use CONCAT"),
    "BRACKET": "use SUBSTRING",
    **dict.fromkeys(("SPLIT", "SPLITPART"), "use SUBSTRING and STRPOS"),
    "COLLATE": "texts compare by their code points; use LOWER on both sides",
    "ATTIMEZONE": "timestamps here have no time zone; add an INTERVAL",
    "BITWISEXOR": "use <> for truth values, or POWER",
    "ISNAN": "NaN is NULL here: write x IS NULL",
    **dict.fromkeys(("TOCHAR", "DATEFORMAT", "FORMATDATE"), "write STRFTIME(d, '%Y-%m')"),
    "DAYNAME": "write STRFTIME(d, '%A')",
    "MONTHNAME": "write STRFTIME(d, '%B')",
    "ISOYEAR": "write STRFTIME(d, '%G')",
    "YEARWEEK": "write STRFTIME(d, '%G-%V')",
    **dict.fromkeys(("DATESUB", "AGE"), "write DATE_DIFF('day', a, b), or d - INTERVAL 3 DAY"),
    **dict.fromkeys(
        ("TIMESTAMPDIFF", "DATETIMEDIFF", "TIMEDIFF", "UNIXTIMESTAMP"),
        "write DATE_DIFF('second', a, b), which counts from a to b",
    ),
    **dict.fromkeys(
        ("DAYSBETWEEN", "TODAYS", "JULIANDAY", "JULIAN"),
        "write DATE_DIFF('day', a, b), or DATE_DIFF('day', DATE '2020-01-01', d)",
    ),
    "MONTHSBETWEEN": "write DATE_DIFF('month', b, a), or DATE_DIFF('day', b, a) / 30.4",
    **dict.fromkeys(("DATE", "TODATE", "STRTOTIME"), "write CAST(s AS DATE) or CAST(s AS TIMESTAMP)"),
    "TIMETOUNIX": "write DATE_DIFF('second', TIMESTAMP '1970-01-01', d)",
    "DATEBIN": "use DATE_TRUNC",
    "INTERVAL": "add it to a date or a timestamp",
}
"""By names without underscores, of the parser's nodes where it has one."""
_NEAR = 0.76


def arguments_read(node: exp.Expr) -> frozenset[str]:
    """The names of a node's parts that `find` reads, or knows to be so in every query; empty for other nodes."""
    return _calls.arguments_read(node) or (frozenset(node.arg_types) if _spelled(node) else frozenset())


def _spelled(node: exp.Expr) -> str | None:
    """The entry of a function that the parser has no shape for: by its name alone."""
    match node:
        case exp.Anonymous():
            return _SPELLINGS.get(node.name.upper())
        case exp.Func() if all(isinstance(part, exp.Expr | None) for part in node.args.values()):
            return next((_SPELLINGS[name] for name in node.sql_names() if name in _SPELLINGS), None)
        case _:
            return None


def find(node: exp.Expr) -> tuple[Function, Call] | None:
    """The entry of a function or an operator, with its arguments; None if the table has none.

    Raises `QueryError` for a wrong number of arguments, or a part that is not understood.

    >>> entry, call = find(exp.maybe_parse("POW(x, 2)"))
    >>> entry.names[0], [argument.sql() for argument in call.args]
    ('POWER', ['x', '2'])
    """
    call = read(node)
    if call is None:
        name = _spelled(node)
        if name is None:
            return None
        parts = node.expressions if isinstance(node, exp.Anonymous) else map(node.args.get, node.arg_types)
        call = Call(name, tuple(part for part in parts if part is not None))
    entry = _BY_NAME[call.name]
    least, most = entry.arity
    if not least <= len(call.args) <= most:
        needed = str(least) if least == most else f"{least} to {most}"
        raise QueryError(f"{node.sql()} has {len(call.args)} arguments, and {entry.signature} takes {needed}")
    return entry, call


def exact_branches(entry: Function, call: Call) -> tuple[exp.Expr, ...] | None:
    """The arguments that must all be 64-bit integers for the result to be one; None if it never is.

    >>> exact_branches(*find(exp.maybe_parse("YEAR(d)")))
    ()
    """
    if entry.exact == "always" or (call.name == "CAST" and call.option in INTEGERS):
        return ()
    if entry.exact == "never" or entry.branches is None:
        return None
    return tuple(node for node in entry.branches(call) if not isinstance(node.unnest(), exp.Null))


def refusal(node: exp.Expr) -> QueryError:
    """The error for a node that the table does not know.

    >>> str(refusal(exp.maybe_parse("UPER(s)")))[:68]
    'UPER(s) in a row-level expression is not supported; did you mean UPP'
    """
    name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
    plain = name.upper().replace("_", "")
    start = f"{node.sql()} in a row-level expression is not supported; "
    if plain in _VOLATILE:
        return QueryError(f"{start}its value changes from run to run: write a constant")
    if plain in _INSTEAD:
        return QueryError(start + _INSTEAD[plain])
    near = near_name(name)
    hint = "" if near is None else f"did you mean {near}? "
    return QueryError(f"{start}{hint}Functions are: {', '.join(e.names[0] for e in FUNCTIONS if e.names[0].isalpha())}")


def near_name(name: str, more: Collection[str] = ()) -> str | None:
    """The function with the name nearest to one that is not known, or one of `more` names; None if none is near.

    >>> near_name("date_dif"), near_name("averaging")
    ('DATE_DIFF', None)
    """
    names = [*more, "EXTRACT", "DATE_PART", *(known for known in _SPELLINGS if known.isidentifier())]
    return next(iter(get_close_matches(name.upper(), names, n=1, cutoff=_NEAR)), None)
