"""Text to one SELECT, or a refusal that says what is supported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryError
from discreet.query.functions._registry import arguments_read
from discreet.query.parse._parser import DUCKDB, MAX_DEPTH, TOO_DEEP, Grammar, parse_tokens, tokenize
from discreet.query.parse._refusals import because
from discreet.query.parse._spellings import known_spellings
from discreet.query.parse._windows import is_windowed, without_named_windows

__all__ = [
    "SUPPORTED",
    "TOO_DEEP",
    "check_block",
    "check_depth",
    "check_understood",
    "parse",
    "parse_query",
    "parsed",
    "refuse",
    "refuse_clauses",
]


SUPPORTED = (
    "Supported: SELECT of COUNT, COUNT(DISTINCT x), COUNT_IF, SUM, AVG, MEDIAN, MIN, MAX, QUANTILE_CONT, MODE, "
    "VARIANCE, STDDEV, COVAR, CORR and REGR functions, each with FILTER, arithmetic between them and ROUND, ABS, SQRT, "
    "COALESCE, GREATEST, LEAST and CASE of them, FROM tables and sub-queries, WHERE, GROUP BY with ROLLUP, "
    "CUBE and GROUPING SETS, HAVING, ORDER BY, LIMIT, OFFSET."
)

_MAX_NODES = 5_000
_MAX_SELECTS = 64
_NO_LEVEL = (exp.Paren, exp.If)
"""Parentheses, and the branches of CASE, which are parts of it."""
_LITERALS = (exp.ByteString, exp.HexString, exp.BitString, exp.RawString, exp.National, exp.UnicodeString)
_BEGINNINGS = {"SELECT", "WITH", "FROM", "(", "VALUES", "TABLE", "PIVOT"}
_STATEMENTS = {
    *("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP", "ATTACH", "DETACH", "USE", "COPY"),
    *(
        "EXPORT",
        "IMPORT",
        "INSTALL",
        "LOAD",
        "SET",
        "RESET",
        "CALL",
        "PREPARE",
        "EXECUTE",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
    ),
    *("VACUUM", "ANALYZE", "CHECKPOINT", "COMMENT", "GRANT", "UNPIVOT"),
}
_CLAUSES = {"expressions", "from_", "where", "group", "having", "qualify", "order", "limit", "offset"}
_UNDERSTOOD = {
    *("this", "expression", "expressions", "alias", "quoted", "is_string", "to", "desc", "nulls_first"),
    *("ifs", "true", "default", "decimals"),
    "ignore_nulls",  # of GREATEST and LEAST, where the parser says it of DuckDB's own; other functions are refused
    *("typed", "safe", "big_int"),  # how dialects divide and count: here always in doubles, and in whole numbers
}

_OF_WINDOWS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Window: frozenset({"partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Lag: frozenset({"offset", "default"}),
    exp.Lead: frozenset({"offset", "default"}),
    exp.NthValue: frozenset({"offset"}),
}


def refuse(what: str, asked: exp.Expr | str | None = None) -> QueryError:
    """A `QueryError` for something unsupported: why, if the list of refusals knows `asked`, else what is supported."""
    why = None if asked is None else because(asked)
    return QueryError(f"{what} is not supported. {SUPPORTED}" if why is None else f"{what} is not supported: {why}")


def parse(text: str) -> exp.Select:
    """Parse SQL in DuckDB's dialect into a single SELECT over a single table.

    Raises `QueryError` if the text is not SQL, holds more than one statement, or uses an unsupported clause.

    >>> parse("SELECT COUNT(*) FROM visits").sql()
    'SELECT COUNT(*) FROM visits'
    """
    select = parse_query(text)
    if not isinstance(select, exp.Select):
        raise refuse(type(select).__name__.upper(), "ANSWERS")
    return select


def parse_query(text: str) -> exp.Query:
    """What `parse` reads, or UNION, INTERSECT or EXCEPT of several. Raises as `parse`.

    >>> type(parse_query("SELECT COUNT(*) FROM a UNION ALL SELECT COUNT(*) FROM b")).__name__
    'Union'
    """
    return without_named_windows(known_spellings(parsed(text)))


def parsed(text: str, *, parameters: bool = False, grammar: Grammar = DUCKDB) -> exp.Query:
    """What `parse_query` reads, spelt as it is written, perhaps with ?, $1 and :name. Raises as `parse`.

    In another `grammar` than DuckDB's, functions are left by their names.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QueryError(f"a query is SQL text or an Ibis expression, got {type(text).__name__}")
    try:
        text.encode()
        tokens = tokenize(text, grammar)
        _check_statement(tokens)
        statements = [s for s in parse_tokens(tokens, text, grammar) if s is not None]
        for statement in statements:
            _check_size(statement)
            _check_chains(statement)
            statement.sql()
    except QueryError:
        raise
    except SqlglotError as error:
        raise QueryError(f"the query is not valid SQL: {_problem(error)}. {SUPPORTED}") from None
    except UnicodeEncodeError:
        raise QueryError("the query is not Unicode text: it holds half of a surrogate pair") from None
    except RecursionError:
        raise QueryError(TOO_DEEP) from None
    except Exception as error:  # noqa: BLE001 (a function with arguments that the parser or the printer trips over)
        raise refuse(f"a function that cannot be read ({type(error).__name__} in the parser)") from None
    select = statements[0]
    while isinstance(select, exp.Subquery) and not any(value for key, value in select.args.items() if key != "this"):
        select = select.this
    if isinstance(select, exp.Pivot):
        around = select.args.pop("with_", None)
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=select)), with_=around)
    if not isinstance(select, exp.Select | exp.SetOperation):
        name = type(select).__name__.upper()
        raise refuse(name, name)
    _check_leaves(select, parameters=parameters)
    return select


def check_understood(select: exp.Select, *, distinct: bool = False) -> None:
    """Raise `QueryError` for a modifier that no pass reads: what is not understood is refused, never skipped.

    `distinct` says that the caller reads SELECT DISTINCT itself.
    """
    for node in select.walk():
        known = arguments_read(node) | _OF_WINDOWS.get(type(node), frozenset())
        for name, value in node.args.items():
            if distinct and node is select and name == "distinct":
                continue
            if value and name not in _UNDERSTOOD and name not in _CLAUSES and name not in known:
                raise refuse(f"{name.rstrip('_').upper()} in {node.sql()}", name)


def _check_size(tree: exp.Expr) -> None:
    """Raise `QueryError` for a tree of too many nodes, before anything is done with each of them."""
    size, selects, level = 1, 0, [tree]
    while level := [child for node in level for child in node.iter_expressions()]:
        size += len(level)
        selects += sum(isinstance(node, exp.Select) for node in level)
        if size > _MAX_NODES:
            raise QueryError(f"the query is too large: it has more than {_MAX_NODES:,} parts")
        if selects > _MAX_SELECTS:
            raise QueryError(f"the query has more than {_MAX_SELECTS} sub-queries and common table expressions")


def _check_chains(tree: exp.Expr) -> None:
    """Raise `QueryError` for an expression that no split makes shallow enough, before much is done with it.

    Of a query that is split, what is in its aggregates and what is over them may each have the greatest depth.
    """
    left = [(tree, 0)]
    while left:
        node, above = left.pop()
        depth = 0 if isinstance(node, exp.Query) else above if isinstance(node, _NO_LEVEL) else above + 1
        if depth > 2 * MAX_DEPTH:
            raise QueryError(TOO_DEEP)
        left += [(child, depth) for child in node.iter_expressions()]


def check_depth(tree: exp.Expr) -> None:
    """Raise `QueryError` for what is nested so deeply that an engine may not read it."""
    left = [(tree, 0)]
    while left:
        node, above = left.pop()
        depth = above if isinstance(node, _NO_LEVEL) else above + 1
        if depth > MAX_DEPTH:
            raise QueryError(TOO_DEEP)
        left += [(child, depth) for child in node.iter_expressions()]


def _check_leaves(select: exp.Query, *, parameters: bool) -> None:
    for node in select.walk():
        if isinstance(node, _LITERALS):
            raise refuse("a constant that is not a number, a date or a plain text in single quotes")
        if isinstance(node, exp.Parameter) or (isinstance(node, exp.Placeholder) and not parameters):
            raise QueryError(
                f"a parameter ({node.sql(dialect='duckdb')}) is not supported without a value: write a constant, or "
                "discreet.bind(query, …), which puts constants in the places of ?, $1 and :name"
            )


def _check_statement(tokens: list[Token]) -> None:
    """Raise `QueryError` unless the text is one statement that begins as a query does.

    What the parser makes of other statements is a guess.
    """
    stops = [True, *(token.token_type == TokenType.SEMICOLON for token in tokens)]
    begins = [i for i in range(len(tokens)) if stops[i] and not stops[i + 1]]
    if len(begins) != 1:
        raise QueryError(f"give exactly one statement, got {len(begins)}. {SUPPORTED}")
    word = tokens[begins[0]].text.upper()
    if word in _STATEMENTS or (word not in _BEGINNINGS and because(word) is not None):
        raise refuse(word, word if because(word) is not None else "INSERT")
    if word not in _BEGINNINGS:
        raise QueryError(
            f"the query is not valid SQL: it begins with {word[:20]}, not with SELECT or WITH. {SUPPORTED}"
        )


def _problem(error: SqlglotError) -> str:
    """The parser's complaint in words for people."""
    line = str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "").rstrip(".")
    line = re.sub(r"<Token token_type: TokenType.SENTINEL.*?>", "the end of the query", line)
    line = re.sub(r"<Token token_type: \S+, text: (.*?), line: .*?>", r"\1", line)
    return re.sub(
        r"Required keyword: '(\w+)' missing for <class '[\w.]*?(\w+)'>", lambda m: f"{m[2].upper()} is incomplete", line
    )


_READ = ("expressions", "from_", "joins", "with_", "where", "group", "having", "distinct")
_LAST = ("qualify", "order", "limit", "offset")
_NAMES = {
    "with_": "WITH",
    "joins": "JOIN",
    "distinct": "DISTINCT",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "offset": "OFFSET",
    "laterals": "LATERAL",
    "into": "SELECT INTO",
    "sample": "SAMPLE",
    "pivots": "PIVOT",
    "order": "ORDER BY",
    "limit": "LIMIT",
}


def refuse_clauses(node: exp.Expr, known: Iterable[str], where: str) -> None:
    """Raise `QueryError` if a node has a part that is not among the known ones."""
    for name, value in node.args.items():
        if value and name not in known:
            raise refuse(f"{_NAMES.get(name, name.rstrip('_').upper())} in {where}", name)


def check_block(select: exp.Select, *, nested: bool) -> None:
    """Raise `QueryError` for a clause that no pass reads; in a sub-query, for windows and what comes after too."""
    known = _READ if nested else (*_READ, *_LAST)
    refuse_clauses(select, known, "a sub-query" if nested else "a query")
    for name in (*_READ, *_LAST):
        if name not in ("from_", "joins", "with_", "expressions", "where", "group"):
            _refuse_queries(select.args.get(name))
    if nested and is_windowed(select):
        raise refuse("a window (OVER) in a sub-query", "WINDOW")
    if select.args.get("qualify") is not None and not is_windowed(select):
        raise QueryError("QUALIFY needs a window function, as in RANK() OVER (…) <= 3; without one write HAVING")
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise refuse("DISTINCT ON")
    group = select.args.get("group")
    if group is not None:
        known = ("all",) if not group.expressions else ("expressions",)
        if any(value for name, value in group.args.items() if name not in known):
            raise refuse("GROUP BY … WITH ROLLUP or WITH CUBE (GROUP BY ROLLUP (a, b) is)")
        if nested and any(isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets) for item in group.expressions):
            raise refuse("GROUPING SETS, ROLLUP or CUBE in a sub-query", "ROLLUP")
    if nested and any(select.find(exp.Grouping, exp.GroupingId) for select in select.expressions):
        raise refuse("GROUPING in a sub-query", "GROUPING")


def _refuse_queries(clause: object) -> None:
    for node in clause if isinstance(clause, list) else [clause]:
        if isinstance(node, exp.Expr) and node.find(exp.Query) is not None:
            raise refuse("a sub-query in HAVING, ORDER BY or LIMIT", "SUBQUERY")
