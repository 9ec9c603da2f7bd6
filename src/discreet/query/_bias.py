"""Estimate the bias from bounds and caps, under differential privacy, for a tenth of the spend.

Proof: ``proofs/bias.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from sqlglot import exp, parse_one

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.query._checked_query import BiasPart, BiasPlan
from discreet.query._plan import Plan, with_spend
from discreet.query._planner import make_plan
from discreet.query._public_keys import ReadPublic
from discreet.query.budget._calibrate import part_of
from discreet.query.measures._measures import Product, Sum
from discreet.query.parse._ibis import Query
from discreet.query.relations._nodes import Joined, Limited, Relation, Scan, unlimited
from discreet.query.results._answer import QUANTILE
from discreet.rational import decimal_text
from discreet.recursion import with_room

__all__ = ["plan_with_bias"]

_SHARE = Fraction(1, 10)
_WIDER = 8
_FINEST = 64
"""What is cut off is summed in steps from 1/64 of the width of the bounds, each twice the one before, to 8 widths."""
_DIGITS, _DIGITS_SHOWN = 120, 15
_NOT_THIS = "the bias of this query cannot be estimated; leave out bias=True, or compute less in WHERE and ON"
_ROWS_SEEN = 10
"""Of one person so many times the cap of rows are looked at, to count those that the cap drops."""


@with_room
def plan_with_bias(query: Query, policy: Policy, spend: Loss | None = None, read: ReadPublic | None = None) -> Plan:
    """A plan that gives a tenth of its spend to estimates of what bounds and caps may have done; see `Session.sql`.

    Costs nothing and touches no private data; `read` is as in `make_plan`. Raises `QueryError` where there is nothing
    to estimate, or nothing that can be, and what `make_plan` raises.
    """
    bare = make_plan(query, policy, None, read)
    if bare.cap is not None:
        raise QueryError(
            "bias=True is for caps that the policy has as numbers; a query that chooses its cap says what it cuts off: "
            'leave bias=True out, or write a number in place of max_rows = "auto"'
        )
    asked = [each for each in (_clipped(bare), _dropped(bare, policy)) if each is not None and bare.noisy]
    if not asked:
        raise QueryError(
            "bias=True estimates what the bounds of numbers and the cap on rows do to a query of tables or of joins of "
            "tables, and there is nothing of the kind here; leave it out"
        )
    bought: list[BiasPlan] = []
    for select, parts, rows in asked:
        seen = _seeing(policy, rows)
        share = None if spend is None else part_of(spend, _SHARE / len(asked), keeps_delta=False)
        estimates = _estimate_plan(select, seen, share)
        if rows == 1 and not _same_rows(estimates, bare):
            raise QueryError(_NOT_THIS)
        bought.append(BiasPlan(estimates, parts))
    plan = bare if spend is None else with_spend(bare, part_of(spend, 1 - _SHARE, keeps_delta=True))
    return replace(plan, bias=tuple(bought), spend=spend)


def _estimate_plan(select: exp.Select, policy: Policy, spend: Loss | None) -> Plan:
    try:
        return make_plan(select.sql(dialect="duckdb"), policy, spend)
    except QueryError:
        raise QueryError(_NOT_THIS) from None


Asked = tuple[exp.Select, tuple[BiasPart, ...], int]
"""A SELECT of estimates, what each is of, and how many times as many rows of a person as the caps allow it sees."""


def _clipped(plan: Plan) -> Asked | None:
    """How many rows have a value beyond a bound, on either side, and by how much it is cut there in all."""
    bounded = plan.levels[0].bounded
    if not _of_tables(bounded.relation):
        return None
    items: list[exp.Expr] = []
    parts: list[BiasPart] = []
    for name, columns in _clamped(plan).items():
        bounds = bounded.columns[name].bounds
        assert bounds is not None
        width = bounds[1] - bounds[0]
        for side, bound, sign in (("above", bounds[1], 1), ("below", bounds[0], -1)):
            value = exp.column(exp.to_identifier(name, quoted=True))
            steps = [width * 2**i / _FINEST for i in range(20) if 2**i <= _WIDER * _FINEST]
            cut = exp.Case(
                ifs=[exp.If(this=_beyond(value, bound + sign * s, sign), true=_number(s, -1)) for s in reversed(steps)],
                default=exp.Literal.number(0),
            )
            count = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=_beyond(value, bound, sign)))
            limit = decimal_text(bound, _DIGITS_SHOWN)
            items += [count, exp.Sum(this=cut)]
            parts += [
                BiasPart(columns, f"rows with {name} {side} {limit}", at_least=False),
                BiasPart(columns, f"what of {name} is cut off {side} {limit}, summed", at_least=True),
            ]
    return (_instead(plan, items), tuple(parts), 1) if items else None


def _dropped(plan: Plan, policy: Policy) -> Asked | None:
    """How many rows people have beyond the cap on rows."""
    bounded = plan.levels[0].bounded
    unit = policy.tables[bounded.relation.table].person if isinstance(bounded.relation, Scan) else None
    if unit is None or not isinstance(bounded.relation, Scan):
        return None
    name = next(here for here, column in bounded.relation.columns.items() if column == unit)
    person = exp.column(exp.to_identifier(name, quoted=True))
    inner = _instead(plan, [person.copy(), exp.Count(this=exp.Star())], ("p", "n"))
    inner.set("group", exp.Group(expressions=[person]))
    more = exp.Greatest(this=exp.Sub(this=exp.column("n"), expression=exp.Literal.number(bounded.max_rows)))
    more.set("expressions", [exp.Literal.number(0)])
    outer = exp.Select(expressions=[exp.alias_(exp.Sum(this=more), "b0", quoted=True)])
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("s")))))
    what = f"rows of people beyond the first {bounded.max_rows:,} of each"
    return outer, (BiasPart(plan.noisy, what, at_least=True),), _ROWS_SEEN


def _same_rows(one: Plan, other: Plan) -> bool:
    left, right = one.levels[0].bounded, other.levels[0].bounded
    return left.where == right.where and unlimited(left.relation) == unlimited(right.relation)


def _of_tables(relation: Relation) -> bool:
    if isinstance(relation, Joined):
        return _of_tables(relation.left) and _of_tables(relation.right)
    return _of_tables(relation.input) if isinstance(relation, Limited) else isinstance(relation, Scan)


def _clamped(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """The columns of numbers that are moved into bounds, and the columns of the result that hang on each.

    A number is computed from them, or a key whose groups follow from bounds.
    """
    bounded = plan.levels[0].bounded
    fields, keys = bounded.columns, bounded.keys
    affected: dict[str, list[str]] = {}
    for column in plan.noisy:
        arguments = [*_arguments(plan, column), *(key.expression for key in keys if key.bounded is not None)]
        read = {leaf.name for node in arguments for leaf in node.find_all(exp.Column)}
        for name in sorted(read):
            if fields[name].bounds is not None and fields[name].type in ("int", "float", "decimal"):
                affected.setdefault(name, []).append(column)
    return {name: tuple(columns) for name, columns in affected.items()}


def _arguments(plan: Plan, column: str) -> Iterator[exp.Expr]:
    bounded = plan.levels[0].bounded
    for i in plan.measures_of(column):
        if i == QUANTILE:
            yield from (histogram.argument for histogram in bounded.histograms)
        elif isinstance(measure := bounded.measures[i], Sum | Product):
            yield measure.argument


def _instead(plan: Plan, items: Sequence[exp.Expr], names: Sequence[str] = ()) -> exp.Select:
    """The same rows, and other columns of them: all groups together."""
    select = parse_one(plan.sql, dialect="duckdb")
    assert isinstance(select, exp.Select)
    for clause in ("group", "having", "qualify", "order", "limit", "offset", "distinct"):
        select.set(clause, None)
    called = names or [f"b{i}" for i in range(len(items))]
    return select.select(
        *(exp.alias_(item, name, quoted=True) for item, name in zip(items, called, strict=True)), append=False
    )


def _beyond(value: exp.Expr, bound: Fraction, sign: int) -> exp.Expr:
    return (exp.GT if sign > 0 else exp.LT)(this=value.copy(), expression=_number(bound, sign))


def _number(value: Fraction, sign: int) -> exp.Expr:
    """A number exactly, or where it has no end the next decimal above it (sign 1) or below (-1)."""
    context = Context(_DIGITS, ROUND_CEILING if sign > 0 else ROUND_FLOOR, MIN_EMIN, MAX_EMAX)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    positive = exp.Literal.number(str(abs(value) if value.denominator == 1 else decimal.copy_abs()))
    return exp.Neg(this=positive) if value < 0 else positive


def _seeing(policy: Policy, rows: int) -> Policy:
    """The policy with so many times as many rows of a person."""
    if rows == 1:
        return policy
    tables = {
        name: table
        if table.max_rows is None or table.buys_cap
        else table.model_copy(update={"max_rows": rows * table.max_rows})
        for name, table in policy.tables.items()
    }
    return policy.model_copy(update={"tables": tables})
