"""A query in the dialect of another system as the query that means the same here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy
from discreet.query.dialects._bigquery import BIGQUERY
from discreet.query.dialects._kinds import Kinds
from discreet.query.dialects._postgres import POSTGRES
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._snowflake import SNOWFLAKE
from discreet.query.dialects._spark import SPARK
from discreet.query.dialects._tsql import TSQL
from discreet.query.dialects._writer import Writer
from discreet.query.parse._parse import check_depth, parsed, refuse
from discreet.query.parse._parser import foreign_grammar, tokenize

__all__ = ["DIALECTS", "RULES", "to_duckdb"]

RULES: Mapping[str, Rules] = {rules.name: rules for rules in (POSTGRES, SPARK, BIGQUERY, SNOWFLAKE, TSQL)}
DIALECTS = ("duckdb", *RULES)
"""The dialects that queries may be written in."""

_TEXTS = (TokenType.STRING, TokenType.IDENTIFIER)
_OPERATORS = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And,
    exp.Or, exp.Not, exp.Neg, exp.Is, exp.Like, exp.ILike, exp.Between, exp.In, exp.Case, exp.Select, exp.Join,
    exp.Window, exp.Filter, exp.Where, exp.Having, exp.Group, exp.Order, exp.Limit, exp.Fetch, exp.Offset,
)  # fmt: skip


def to_duckdb(query: str, dialect: str, policy: Policy | None) -> str:
    """The text of a query in a dialect as text in DuckDB's.

    What `policy` knows of columns decides where the meaning depends on types. Raises `ParameterError` for a dialect
    that is not among `DIALECTS`, and `QueryError` for a query that is not valid, or whose meaning in the dialect is
    not known or cannot be written.

    >>> to_duckdb("SELECT TOP 3 [a], COUNT(*) AS n FROM dbo.visits WHERE LEN(note) > 9 GROUP BY [a]", "tsql", None)
    'SELECT "a", COUNT(*) AS n FROM visits WHERE LENGTH(RTRIM(note)) > 9 GROUP BY "a" LIMIT 3'
    """
    if dialect == "duckdb":
        return query
    rules = RULES.get(dialect)
    if rules is None:
        raise ParameterError(f"dialect is one of {', '.join(DIALECTS)}; got {dialect!r}")
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"a dialect is that of SQL text, got {type(query).__name__}; leave dialect out")
    _check_constants(query, rules)
    tree = parsed(query, grammar=foreign_grammar(rules.name))
    check_depth(tree)
    _check_names(tree, rules)
    kinds = Kinds(tree, policy, cuts_quotients=rules.cuts_quotients, widens_sums=rules.widens_sums)
    written = Writer(rules, kinds).write(tree)
    text = written.sql(dialect="duckdb", comments=False)
    if _operators(parsed(text)) != _operators(written):
        raise refuse(f"a query that cannot be written in another dialect than {rules.title}")
    return text


def _check_constants(query: str, rules: Rules) -> None:
    """Raise `QueryError` for a backslash in a constant that is an escape there."""
    if rules.escapes != "texts" or "\\" not in query:
        return
    try:
        tokens = tokenize(query, foreign_grammar(rules.name))
    except (SqlglotError, QueryError):  # said by the parser in its turn
        return
    written = [query[token.start : token.end + 1] for token in tokens if token.token_type in _TEXTS]
    if any("\\" in text and text[0] not in "rR" for text in written):
        raise QueryError(f"a backslash in a constant is an escape in {rules.title}; write the character itself")


def _check_names(tree: exp.Query, rules: Rules) -> None:
    """Raise `QueryError` for names that mean something else there than here, where case tells none apart."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    quoted: set[str] = set()
    for each in tree.find_all(exp.Identifier):
        if isinstance(each.parent, exp.Table) and each.parent.alias and each is each.parent.this:
            continue  # nothing else is named by it
        names[each.name.casefold()].add(each.name)
        if each.args.get("quoted"):
            quoted.add(each.name.casefold())
    for name, written in names.items() if rules.distinguishes_case else ():
        if len(written) > 1 and name in quoted:
            raise QueryError(
                f"{' and '.join(sorted(written))} differ in the case of letters alone, which is told apart in "
                f"{rules.title} and not here; write each name in one way"
            )
    for select in tree.find_all(exp.Select) if rules.alias_hides_column else ():
        group = select.args.get("group")
        grouped = {each.name.casefold() for each in (group.expressions if group else ()) if _is_bare(each)}
        for item in select.expressions:
            hidden = isinstance(item, exp.Alias) and not isinstance(item.this.unnest(), exp.Column)
            if hidden and item.alias.casefold() in grouped & {c.name.casefold() for c in item.find_all(exp.Column)}:
                raise QueryError(
                    f"GROUP BY {item.alias} means the alias in {rules.title}, and the column here; write another "
                    "alias, or GROUP BY the expression"
                )


def _operators(tree: exp.Expr) -> list[type[exp.Expr]]:
    """The operators of a tree, the outer ones first, whatever the order of its clauses."""
    operators: list[type[exp.Expr]] = []
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, _OPERATORS):
            operators.append(type(node))
        for _, part in sorted(node.args.items()):
            left += [each for each in (part if isinstance(part, list) else [part]) if isinstance(each, exp.Expr)]
    return operators


def _is_bare(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table
