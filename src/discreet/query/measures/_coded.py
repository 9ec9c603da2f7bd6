"""The rows of one table by cells of its columns: what a synthetic table or a set of statistical tables counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.policy import ColumnType, Key, Policy
from discreet.query.expressions._bounded_keys import literal
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.relations._columns import Columns
from discreet.query.relations._nodes import Computed

__all__ = ["CodedCells", "Cut", "cell_of", "coded_rows"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a cell of numbers ends and the next begins; `closed` says that the cell below holds the end itself.

    Of dates the end counts days since 1970-01-01, of timestamps microseconds.
    """

    end: Fraction
    closed: bool = False


CodedCells = Sequence[Cut] | tuple[Key | None, ...]
"""The cuts between cells of numbers or dates, or a public value for each cell."""


def coded_rows(
    policy: Policy,
    table: str,
    columns: Mapping[str, CodedCells],
    codes: Sequence[tuple[str, tuple[Key, ...]]] = (),
) -> BoundedAggregate:
    """The rows of a table that count, with a key for each column, whose values are its cells in their order.

    A column is given by its public values, each a cell, or by the cuts between cells of numbers or dates: values beyond
    the outermost cuts are in the outermost cells. Where it may be null, that is the last cell. A row with a value that
    is not public, or a null where the policy says there is none, does not count.

    Columns of `codes` come first, each with the codes that are public: a code counts once in a row, in the first of
    these columns that has it, and the last cell of each is for everything else.
    """
    scope = Columns()
    relation, nodes = scope.scan(policy, table)
    computed: dict[str, tuple[exp.Expr, ColumnType]] = {}
    keys: list[GroupKey] = []
    for place, (name, public) in enumerate(codes):
        kind = policy.tables[table].columns[name].type
        cell = scope.add(f"code of {name}", Field(kind, None, public, nullable=True))
        computed[cell] = _code(nodes[name], [nodes[each] for each, _ in codes[:place]], public), kind
        keys.append(GroupKey(name, (*public, None), exp.column(exp.to_identifier(cell, quoted=True)), kind))
    for name, cells in columns.items():
        node, declared = nodes[name], policy.tables[table].columns[name]
        cuts = [each for each in cells if isinstance(each, Cut)]
        if len(cuts) < len(cells):
            public = tuple(each for each in cells if not isinstance(each, Cut))
            keys.append(GroupKey(name, public, node, declared.type))
            continue
        values = tuple(range(len(cuts) + 1 + declared.nullable))
        cell = scope.add(f"cell of {name}", Field("int", None, values, nullable=False))
        computed[cell] = (cell_of(node, cuts, declared.type, nullable=declared.nullable), "int")
        keys.append(GroupKey(name, values, exp.column(exp.to_identifier(cell, quoted=True)), "int"))
    return BoundedAggregate(
        relation=Computed(relation, computed) if computed else relation,
        unit=policy.unit(table).name,
        max_rows=policy.tables[table].rows_per_unit,
        max_groups=None,
        where=None,
        keys=tuple(keys),
        measures=(),
        columns=scope.fields,
        used=frozenset(nodes[name].name for name in (*columns, *(name for name, _ in codes))),
        count_units=False,
    )


def _code(node: exp.Expr, earlier: Sequence[exp.Expr], public: Sequence[Key]) -> exp.Expr:
    """A code that is public and in no earlier column of the row; null for any other."""
    listed = [
        exp.Literal.string(each) if isinstance(each, str) else literal(Fraction(str(each)), "int") for each in public
    ]
    test: exp.Expr = exp.In(this=node.copy(), expressions=listed)
    for each in earlier:
        missing = exp.Is(this=each.copy(), expression=exp.Null())
        test = exp.And(
            this=test,
            expression=exp.Paren(
                this=exp.Or(this=missing, expression=exp.NEQ(this=node.copy(), expression=each.copy()))
            ),
        )
    return exp.Case(ifs=[exp.If(this=test, true=node.copy())])


def cell_of(node: exp.Expr, cuts: Sequence[Cut], kind: ColumnType, *, nullable: bool) -> exp.Expr:
    """The cell of a value: a tree of comparisons, so that each row meets few of them."""

    def among(first: int, last: int) -> exp.Expr:
        if first == last:
            return exp.Literal.number(first)
        middle = (first + last) // 2
        below = exp.LTE if cuts[middle].closed else exp.LT
        test = below(this=node.copy(), expression=literal(cuts[middle].end, kind))
        return exp.Case(ifs=[exp.If(this=test, true=among(first, middle))], default=among(middle + 1, last))

    tree = among(0, len(cuts))
    if not nullable:
        return tree
    missing = exp.If(this=exp.Is(this=node.copy(), expression=exp.Null()), true=exp.Literal.number(len(cuts) + 1))
    return exp.Case(ifs=[missing], default=tree)
