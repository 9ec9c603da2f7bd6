"""A checked query: what it computes, how far one unit can move it, and, given a spend, with what noise."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy
from discreet.privacy import ApproxLoss, Loss, Unit, budget_of, to_json
from discreet.query._public_keys import keys_digest
from discreet.query.budget._calibrate import typical
from discreet.query.budget._noise import Level, NoiseMechanism, keys_of, level_loss, top_keys_to_json
from discreet.query.caps._choice import SHARE, CapChoice
from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import Group, GroupKey, check_slopes, public_groups
from discreet.query.passes._windows import check_size, windows_of
from discreet.query.results._answer import QUANTILE, Answer, answer, is_steady
from discreet.release import json_digest
from discreet.reprs import shortened

__all__ = ["FORMAT", "Bias", "BiasPart", "BiasPlan", "CheckedQuery", "assumed", "bias_lines", "bias_to_json"]


FORMAT = 2
"""Number of the plan format; it enters every plan's hash, so a change of meaning never reuses a stored answer."""

_MOST_GROUPS = 10_000
_MOST_ROWS = 10**15
_MANY, _ALIKE = 10**6, 1e-4
"""Rows of which ratios are looked at, and how near to each other those are that differ by n / (n − 1)."""


@dataclass(frozen=True, slots=True)
class Bias:
    """Something that the bounds or caps of a query did to its rows, all groups together.

    `what` says what was counted or summed, `estimate` how many or how much, within ± `error` with probability 0.95.
    `at_least` says that the true amount may be more, since its tail is cut off at a public limit.
    """

    what: str
    estimate: float
    error: float
    at_least: bool


@dataclass(frozen=True, slots=True)
class BiasPart:
    """One estimate: what it is of, and which columns of the result it may have moved."""

    columns: tuple[str, ...]
    what: str
    at_least: bool


@dataclass(frozen=True, slots=True)
class BiasPlan:
    """A plan without keys whose columns ``b0``, ``b1``, … are the estimates."""

    plan: CheckedQuery
    parts: tuple[BiasPart, ...]


@dataclass(frozen=True, slots=True, repr=False)
class CheckedQuery:
    """A checked query. Making one costs nothing and touches no data.

    It has one level for each of its grouping sets, which are paid for one by one; most queries have one level. Where it
    chooses its `cap`, the levels are those under the one that is chosen or assumed, and until then under a cap of 1.
    """

    sql: str
    select: exp.Select
    levels: tuple[Level, ...]
    aggregates: tuple[Aggregate, ...]
    unit: Unit
    spend: Loss | None
    rows: int | None = None
    currency: str | None = None
    before: Answer | None = field(default=None, compare=False)
    bias: tuple[BiasPlan, ...] = ()
    cap: CapChoice | None = None
    _one_row: list[Answer] = field(default_factory=list[Answer], init=False, compare=False, repr=False)
    _errors: dict[tuple[str, float], float | None] = field(
        default_factory=dict[tuple[str, float], "float | None"], init=False, compare=False, repr=False
    )

    _typical: dict[tuple[int, bool], Group] = field(
        default_factory=dict[tuple[int, bool], Group], init=False, compare=False, repr=False
    )

    def __repr__(self) -> str:
        tables = dict.fromkeys(table for level in self.levels for table in level.bounded.tables)
        keys = ", ".join(key.name for key in keys_of(self.levels))
        count = len(self.aggregates)
        words = f"{count} statistic{'' if count == 1 else 's'}{f' by {shortened(keys)}' if keys else ''}"
        cost = "no spend" if self.loss is None else f"loss {shortened(repr(self.loss))}"
        name = f"{type(self).__name__} of table{'' if len(tables) == 1 else 's'} {shortened(', '.join(tables))}"
        return f"<{name}; {words}; {cost}>"

    def hash(self, policy: Policy) -> str:
        """SHA-256 of the canonical plan, the policy's digest, its version label, the spend and the plan format.

        Where keys are chosen before noise, of the choice as well; of groups that follow from types and bounds; of the
        values of modes; of what estimates the bias if anything does; of the caps that may be chosen.
        """
        content: dict[str, object] = {
            "format": FORMAT,
            "query": self.sql,
            "policy": policy.digest(),
            "version": policy.version,
            "spend": None if self.loss is None else to_json(self.loss),
        }
        chosen = [each.noise.top_keys for each in self.levels if each.noise and each.noise.top_keys is not None]
        if chosen:
            content["top_keys"] = top_keys_to_json(*chosen)
        if groups := [_groups(key) for each in self.levels for key in each.bounded.keys if _is_computed(key)]:
            content["groups"] = groups
        if modes := [each for each in self.levels[0].bounded.histograms if each.values]:
            content["modes"] = [(each.argument.sql(), json_digest(list(map(repr, each.values)))) for each in modes]
        if self.bias:
            losses = [each.plan.loss for each in self.bias]
            content["bias"] = [
                [each.plan.sql for each in self.bias],
                [None if loss is None else to_json(loss) for loss in losses],
            ]
        if self.cap is not None:
            content["caps"] = [str(SHARE), list(self.cap.caps[: self.cap.affordable])]
        return json_digest(content)

    @property
    def all_levels(self) -> tuple[Level, ...]:
        """The levels of the query, and after them what chooses its cap and those that estimate its bias."""
        chooses = () if self.cap is None else (self.cap.level,)
        return (*self.levels, *chooses, *(level for each in self.bias for level in each.plan.levels))

    @property
    def loss(self) -> Loss | None:
        """What running the plan will charge; None without a spend.

        Where it chooses its cap, all of the δ of a spend in (ε, δ), as some cap may call for noise that takes it.
        """
        if self.cap is not None and self.spend is not None:
            name, (main, *rest) = budget_of(self.spend)
            if name == "approx":
                return ApproxLoss(main, sum(rest, Fraction(0)))
        return level_loss(self.all_levels)

    @property
    def noisy(self) -> tuple[str, ...]:
        """The output columns that will carry noise, in order; the others are keys."""
        return tuple(self._row.shapes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The output columns that will carry noise and are numbers, in order."""
        return self._row.numbers

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the output columns, in order."""
        return self._row.table.schema

    def measures_of(self, column: str) -> tuple[int, ...]:
        """The positions of the measures that an output column is read off; `QUANTILE` in front for a quantile."""
        each = len(self.levels[0].bounded.measures)
        slopes = self._row.shape(column).slopes
        if not each:
            return (QUANTILE,)
        return tuple(sorted({i if i == QUANTILE else i % each for i in slopes}))

    @property
    def has_ratios_alone(self) -> bool:
        """Whether every output column with noise stays the same where all sums double, as averages and shares do."""
        one, two = (self._answer(self._imagined_rows(rows)) for rows in (_MANY, 2 * _MANY))
        return all(
            np.allclose(
                *(np.array(each.table.column(name).to_numpy(), dtype=float) for each in (one, two)),
                rtol=_ALIKE,
                equal_nan=True,
            )
            for name in one.numbers
            if QUANTILE not in one.shape(name).slopes
        )

    def windowed(self, column: str) -> bool:
        """Whether an output column is computed by a window over the released rows."""
        items = [item for item in self.select.expressions if item.alias == column]
        return any(item.find(exp.Window) is not None for item in items)

    def barless(self, column: str) -> bool:
        """Whether an output column is a window's that has no error bar, whatever the data are."""
        return self.windowed(column) and self._row.shape(column).rows is None

    def check_result(self) -> None:
        """Raise `QueryError` if the result, HAVING, ORDER BY or LIMIT asks for something that cannot be evaluated,
        or for more than an answer holds.

        The result is computed once from made-up numbers, so that nothing is left to fail after the budget is spent.
        """
        try:
            shapes = self._answer(self._imagined_rows(10)).shapes
        except QueryError as error:
            raise QueryError(self._in_sql(str(error))) from None
        rows = sum(public_groups(level.bounded.keys) or 0 for level in self.levels)
        check_size(self.select, rows)
        check_slopes(rows, sum(len(shape.slopes) for shape in shapes.values()))

    def error(self, column: str, level: float = 0.95) -> float | None:
        """The half-width of an output column where it does not depend on data; None where it does.

        Under ``assume={"rows": n}`` an average is taken to rest on n rows, spread evenly over the public groups, and
        to lie at the edge of its bounds; its half-width is approximate. What has no error there, as a standard
        deviation, is taken at values spread over their bounds instead. Where a public key is a factor of the answer,
        the half-width is that of the widest key, and of several grouping sets that of the widest. None for what hangs
        on a quantile: `explain` has its error in rank. Under ``assume=release`` the half-width is that of the widest
        row that was released then, with its values and the noise of this plan. Where the plan chooses a cap, None
        unless one is assumed: ``assume={"max_rows": n}``. What is not linear in the noise is taken
        to first order, which is too little where the noise is as large as a count. Raises `ParameterError` without a
        spend.
        """
        key = column, level
        if not isinstance(level, float):  # pyright: ignore[reportUnnecessaryIsInstance] - to be refused in words
            return self._error(column, level)
        if key not in self._errors:
            self._errors[key] = self._error(column, level)
        return self._errors[key]

    def _error(self, column: str, level: float) -> float | None:
        if self.loss is None:
            raise ParameterError("errors need a spend: plan(query, spend=…)")
        if self.cap is not None and self.cap.chosen is None:
            return None
        if self.before is not None:
            return _widest(replace(self.before, noises=self._noises(), basis=None), column, level)
        if self.windowed(column):
            return self._window_error(self._named(column), column, level)
        result = self._row_of(column)
        return None if result is None else _widest(result, column, level)

    def widths(self) -> Callable[[CheckedQuery, str, float], float | None]:
        """The half-widths of a column for the noise of this plan with another spend, as `error` has them."""
        rows: dict[str, Answer | None] = {}

        def width(plan: CheckedQuery, column: str, level: float) -> float | None:
            if plan.cap is not None or plan.before is not None or plan.windowed(column):
                return plan.error(column, level)
            if column not in rows:
                rows[column] = self._row_of(column)
            row = rows[column]
            return None if row is None else _widest(replace(row, noises=plan._noises()), column, level)

        return width

    def _named(self, column: str) -> Sequence[exp.Expr]:
        return [item for item in self.select.expressions if item.alias == column] or self.select.expressions

    def _row_of(self, column: str) -> Answer | None:
        """The made-up answer whose error is that of a column; None where it depends on data."""
        named = self._named(column)
        alone = exp.Select(expressions=[item.copy() for item in named])  # no HAVING: an imagined row need not pass it
        result = self._supposed(alone, at_edge=True)
        shape = result.shape(column)
        if not all(np.isfinite(slope).all() for slope in shape.slopes.values()):
            result = self._supposed(alone, at_edge=False)
        private = {key.name for key in keys_of(self.levels) if key.values is None}
        if (not shape.linear and self.rows is None) or any(c.name in private for c in alone.find_all(exp.Column)):
            return None
        return result

    def _window_error(self, named: Sequence[exp.Expr], column: str, level: float) -> float | None:
        """The half-width of a window's column over all groups, where noise decides about none of them."""
        rows = sum(public_groups(each.bounded.keys) or 0 for each in self.levels)
        if not is_steady(self.select, self.levels) or rows > _MOST_GROUPS:
            return None
        alone = exp.Select(expressions=[item.copy() for item in named])
        if (having := self.select.args.get("having")) is not None:
            alone.set("having", having.copy())
        every = {key.name for key in keys_of(self.levels)}
        groups = [self._imagined_groups(each, every, at_edge=True) for each in self.levels]
        result = replace(answer(alone, self.levels, self.aggregates, groups), basis=None)
        noise = result.shape(column).rows
        return None if noise is None or (noise.quotient and self.rows is None) else _widest(result, column, level)

    @property
    def shape(self) -> str:
        """SHA-256 of the query and of how its columns are read off its measures: what makes two releases alike."""
        parts = [self.sql, *map(repr, self.aggregates)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def approximate(self, column: str) -> bool:
        """Whether the half-width of an output column will be approximate; see `Release.approximate`."""
        return self._row.picked is not None or not self._row.shape(column).linear

    def finish(self, noisy: Sequence[Sequence[Group]]) -> Answer:
        """The answer to the query from the groups of each level that have had their noise: post-processing."""
        assert self.loss is not None
        return self._answer(noisy)

    def _noises(self) -> tuple[NoiseMechanism, ...]:
        return tuple(noise for level in self.levels if level.noise is not None for noise in level.noise.mechanisms)

    def _answer(self, groups: Sequence[Sequence[Group]]) -> Answer:
        return answer(self.select, self.levels, self.aggregates, groups)

    def _in_sql(self, message: str) -> str:
        """The message with aggregates in place of the placeholders that stand for them."""
        for i, window in reversed(list(enumerate(windows_of(self.select)))):
            message = message.replace(f":w{i}", window)
        for i in reversed(range(len(self.aggregates))):
            message = message.replace(f":a{i}", self.aggregates[i].sql)
        return message

    def rows_per_group(self, level: Level) -> int | None:
        """The public number of rows that was assumed, spread evenly over a level's public groups; None if none was."""
        return None if self.rows is None else self._rows_per_group(level)

    def _rows_per_group(self, level: Level) -> int:
        listed = public_groups([key for key in level.bounded.keys if key.values is not None and not key.is_unread])
        return max((self.rows or 0) // (listed or 1), 1)

    def _supposed(self, select: exp.Select, *, at_edge: bool) -> Answer:
        named = {column.name for item in select.expressions for column in item.find_all(exp.Column)}
        read = {leaf.name for item in select.expressions for leaf in item.find_all(exp.Placeholder)}
        groups = [self._imagined_groups(level, named, at_edge=at_edge) for level in self.levels]
        return replace(answer(select, self.levels, self.aggregates, groups, read), basis=None)

    def _imagined_groups(self, level: Level, named: AbstractSet[str], *, at_edge: bool) -> list[Group]:
        """A group for each combination of the `named` public keys of a level, which a column is computed with."""
        place = self.levels.index(level), at_edge
        if place not in self._typical:
            self._typical[place] = _imagined(level, self._rows_per_group(level), at_edge=at_edge)
        group = self._typical[place]
        choices = [key.values if key.values and key.name in named else (None,) for key in level.bounded.keys]
        keys = itertools.islice(itertools.product(*choices), _MOST_GROUPS)
        return [replace(group, key=key) for key in keys]

    @property
    def _row(self) -> Answer:
        """The answer of one made-up row for each level, worked out once."""
        if not self._one_row:
            self._one_row.append(self._answer(self._imagined_rows(1)))
        return self._one_row[0]

    def _imagined_rows(self, rows: int) -> list[list[Group]]:
        """One made-up group of so many rows in each level."""
        return [[_imagined(level, rows)] for level in self.levels]


def _imagined(level: Level, rows: int, *, at_edge: bool = True) -> Group:
    key = tuple(None if key.values is None else key.values[0] for key in level.bounded.keys)
    sums = tuple(rows * measure.upper if at_edge else typical(measure, rows) for measure in level.bounded.measures)
    tops = tuple(histogram.largest for histogram in level.bounded.histograms)
    return Group(key, 0, sums, quantiles=tops)


def _widest(result: Answer, column: str, level: float) -> float | None:
    halves = result.error(column, level)
    return None if np.isnan(halves).all() else float(np.nanmax(halves))


def assumed(assume: Mapping[str, int] | None) -> tuple[int | None, int | None]:
    """The public number of rows in `assume`, and the cap; raises `ParameterError` on anything else in it."""
    given = {"": 0} if not isinstance(assume, Mapping | None) else dict(assume or {})  # pyright: ignore[reportUnnecessaryIsInstance]
    counts: list[object] = [given.get("rows", 1), given.get("max_rows", 1)]
    right = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and 1 <= n <= _MOST_ROWS for n in counts)
    if not right or not given.keys() <= {"rows", "max_rows"}:
        raise ParameterError(
            'assume takes {"rows": n} with a whole number n from 1 to 10**15, {"max_rows": n} for a cap that a query '
            "chooses, or an earlier release of the query"
        )
    rows, most = (None if name not in given else int(given[name]) for name in ("rows", "max_rows"))
    return rows, most


def bias_lines(asked: Sequence[BiasPlan], level: float) -> list[str]:
    """What a plan says of its estimates, a line each."""
    lines: list[str] = []
    for each in asked:
        for i, part in enumerate(each.parts):
            half = None if each.plan.loss is None else each.plan.error(f"b{i}", level)
            known = "" if half is None else f" ± {half:.4g}"
            limit = ", a lower limit" if part.at_least else ""
            lines.append(f"{part.what}{known}{limit}; for {', '.join(part.columns)}")
    return lines


def bias_to_json(asked: Sequence[BiasPlan], noisy: Sequence[Sequence[Group]]) -> list[dict[str, Any]]:
    """The estimates from the noisy groups of each plan, as plain JSON: floats as text that says them exactly."""
    estimates: list[dict[str, Any]] = []
    for each, groups in zip(asked, noisy, strict=True):
        answer = each.plan.finish([groups])
        for i, part in enumerate(each.parts):
            estimates.append(
                {
                    "columns": list(part.columns),
                    "what": part.what,
                    "estimate": repr(float(answer.table.column(f"b{i}")[0].as_py())),
                    "error": repr(float(answer.error(f"b{i}")[0])),
                    "at_least": part.at_least,
                    "query": each.plan.sql,
                }
            )
    return estimates


def _is_computed(key: GroupKey) -> bool:
    """Whether the groups of a key are public, and not as the policy lists them under a column."""
    plain = key.bounded is None and key.public is None and not key.narrowed and isinstance(key.expression, exp.Column)
    return key.values is not None and not plain


def _groups(key: GroupKey) -> tuple[object, ...]:
    assert key.values is not None
    groups = key.name, None if key.bounded is None else key.bounded.sql(), None in key.values
    if key.public is not None:
        return (*groups, key.public.query, keys_digest(key.public))
    return (*groups, json_digest([repr(value) for value in key.values])) if key.narrowed else groups
