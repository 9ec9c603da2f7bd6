"""A condition on one row, in SQL: comparisons, arithmetic and functions of its columns, the same each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import ParameterError, QueryError, printable
from discreet.marginals.conditions._cell_table import SAME_EACH_TIME
from discreet.marginals.conditions._sandbox import Sandbox
from discreet.query import parse
from discreet.recursion import with_room

__all__ = ["column_names", "condition", "free_name", "rows_that_keep", "truth"]

_LONGEST = 2_000
_SHOWN = 60


@with_room
def condition(text: object) -> exp.Expr:
    """A condition from its text. Raises `QueryError` for what is none.

    >>> column_names(condition("inpatient = 0 OR admissions > 0"))
    ('inpatient', 'admissions')
    """
    if not isinstance(text, str):
        raise ParameterError(f'a condition is SQL text, as in "cost = 0 OR visits > 0", not {text!r}')
    if len(text) > _LONGEST:
        raise QueryError(f"a condition of a rule has at most {_LONGEST:,} characters")
    shown = printable(text[:_SHOWN])
    try:
        select = parse(f"SELECT COUNT(*) FROM rows_of_it WHERE {text}")  # noqa: S608 - to be checked
    except QueryError as error:
        raise QueryError(f"the rule {shown!r} cannot be read: {error}") from None
    clauses = {name for name, value in select.args.items() if value}
    where = select.args.get("where")
    if clauses != {"expressions", "from_", "where"} or len(select.expressions) != 1 or where is None:
        raise QueryError(f"the rule {shown!r} is no single condition on a row")
    tree = where.this.unnest()
    try:
        tree.sql("duckdb")
    except SqlglotError:
        raise QueryError(f"the rule {shown!r} cannot be read: a function of it lacks an argument") from None
    odd = next((each for each in tree.walk() if not isinstance(each, SAME_EACH_TIME)), None)
    if odd is not None:
        raise QueryError(
            f"the rule {shown!r}: {odd.sql('duckdb')[:_SHOWN]} cannot be in a rule, which is a condition on one row, "
            "by comparisons, arithmetic, CASE, IN, LIKE, and functions of numbers, texts and dates"
        )
    return tree


def column_names(tree: exp.Expr) -> tuple[str, ...]:
    """The columns that a condition is on. Raises `QueryError` if it is on none, or names a table."""
    names: dict[str, None] = {}
    for column in tree.find_all(exp.Column):
        if column.table:
            raise QueryError(f"a rule is on one row: write {column.name} for {column.sql('duckdb')}")
        names[column.name] = None
    if not names:
        raise QueryError(f"the rule {tree.sql('duckdb')!r} names no column")
    return tuple(names)


def truth(tree: exp.Expr, *, null: bool) -> str:
    """SQL that is true where a condition holds, and `null` where it is unknown or cannot be computed."""
    test = "IS NOT FALSE" if null else "IS TRUE"
    return f"(TRY({tree.sql('duckdb')}) {test})"


def rows_that_keep(conditions: Sequence[str], rows: pa.Table) -> NDArray[np.bool_]:
    """Which rows break none of some conditions; one that is unknown, by a NULL, is not broken."""
    if not conditions or not rows.num_rows:
        return np.ones(rows.num_rows, bool)
    every = " AND ".join(truth(condition(each), null=True) for each in conditions)
    number = free_name("number of the row", rows.column_names)
    numbered = rows.append_column(number, pa.array(np.arange(rows.num_rows)))
    with Sandbox({"rows": numbered}) as sandbox:
        query = f'SELECT {every} AS held FROM rows ORDER BY "{number}"'  # noqa: S608 - trees that were checked
        held = sandbox.run(query).column("held")
    return held.combine_chunks().to_numpy(zero_copy_only=False)


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or one that begins with it where a column has it already, in any case.

    >>> free_name("cell", ["Cell", "x"])
    'cell_2'
    """
    folded = {each.casefold() for each in taken}
    while name.casefold() in folded:
        name += "_2"
    return name
