"""A checked query: what it computes, how far one unit can move it, and, given a spend, with what noise."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy
from discreet.privacy import Loss, Unit, to_json
from discreet.query._aggregates import Aggregate
from discreet.query._answer import QUANTILE, Answer, answer
from discreet.query._bounded import Group
from discreet.query._levels import Level, keys_of, level_loss
from discreet.query._top_keys import top_keys_to_json

__all__ = ["FORMAT", "Plan", "assume_rows"]

FORMAT = 2
"""Number of the plan format; it enters every plan's hash, so a change of meaning never reuses a stored answer."""

_MOST_GROUPS = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked query. Making one costs nothing and touches no data; see `explain`.

    It has one level for each of its grouping sets, which are paid for one by one; most queries have one level.
    """

    sql: str
    select: exp.Select
    levels: tuple[Level, ...]
    aggregates: tuple[Aggregate, ...]
    unit: Unit
    spend: Loss | None
    rows: int | None = None
    currency: str | None = None

    def hash(self, policy: Policy) -> str:
        """SHA-256 of the canonical plan, the policy's digest, its version label, the spend and the plan format.

        Where keys are chosen before noise, of the choice as well.
        """
        content = {
            "format": FORMAT,
            "query": self.sql,
            "policy": policy.digest(),
            "version": policy.version,
            "spend": None if self.loss is None else to_json(self.loss),
        }
        chosen = [each.noise.top_keys for each in self.levels if each.noise and each.noise.top_keys is not None]
        if chosen:
            content["top_keys"] = top_keys_to_json(*chosen)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def loss(self) -> Loss | None:
        """What running the plan will charge; None without a spend."""
        return level_loss(self.levels)

    @property
    def noisy(self) -> tuple[str, ...]:
        """The output columns that will carry noise, in order; the others are keys."""
        return tuple(self._answer(self._imagined_rows(1)).shapes)

    def check_result(self) -> None:
        """Raise `QueryError` if the result, HAVING, ORDER BY or LIMIT asks for something that cannot be evaluated.

        The result is computed once from made-up numbers, so that nothing is left to fail after the budget is spent.
        """
        try:
            self._answer(self._imagined_rows(10))
        except QueryError as error:
            raise QueryError(self._in_sql(str(error))) from None

    def error(self, column: str, level: float = 0.95) -> float | None:
        """The half-width of an output column where it does not depend on data; None where it does.

        Under ``assume={"rows": n}`` an average is taken to rest on n rows, spread evenly over the public groups, and
        to lie at the edge of its bounds; its half-width is approximate. Where a public key is a factor of the answer,
        the half-width is that of the widest key, and of several grouping sets that of the widest. None for what hangs
        on a quantile: `explain` has its error in rank. Raises `ParameterError` without a spend.
        """
        if self.loss is None:
            raise ParameterError("errors need a spend: plan(query, spend=…)")
        groups = [self._imagined_groups(level) for level in self.levels]
        named = [item for item in self.select.expressions if item.alias == column] or self.select.expressions
        alone = exp.Select(expressions=[item.copy() for item in named])  # no HAVING: an imagined row need not pass it
        result = answer(alone, self.levels, self.aggregates, groups)
        shape = result.shape(column)
        if QUANTILE in shape.slopes:
            return None
        private = {key.name for key in keys_of(self.levels) if key.values is None}
        if (not shape.linear and self.rows is None) or any(c.name in private for c in alone.find_all(exp.Column)):
            return None
        halves = result.error(column, level)
        return None if np.isnan(halves).all() else float(np.nanmax(halves))

    def finish(self, noisy: Sequence[Sequence[Group]]) -> Answer:
        """The answer to the query from the groups of each level that have had their noise: post-processing."""
        assert self.loss is not None
        return self._answer(noisy)

    def explain(self, level: float = 0.95) -> str:
        """What the plan does, in words and one line for each output column."""
        from discreet.query._explain import explain

        return explain(self, level)

    def _answer(self, groups: Sequence[Sequence[Group]]) -> Answer:
        return answer(self.select, self.levels, self.aggregates, groups)

    def _in_sql(self, message: str) -> str:
        """The message with aggregates in place of the placeholders that stand for them."""
        for i in reversed(range(len(self.aggregates))):
            message = message.replace(f":a{i}", self.aggregates[i].sql)
        return message

    def rows_per_group(self, level: Level) -> int | None:
        """The public number of rows that was assumed, spread evenly over a level's public groups; None if none was."""
        return None if self.rows is None else self._rows_per_group(level)

    def _rows_per_group(self, level: Level) -> int:
        size = 1
        for key in level.bounded.keys:
            size *= len(key.values or (None,))
        return max((self.rows or 0) // size, 1)

    def _imagined_groups(self, level: Level) -> list[Group]:
        """A group for each combination of the public keys of a level that the result computes with."""
        named = {column.name for item in self.select.expressions for column in item.find_all(exp.Column)}
        group = _imagined(level, self._rows_per_group(level))
        choices = [key.values if key.values and key.name in named else (None,) for key in level.bounded.keys]
        keys = itertools.islice(itertools.product(*choices), _MOST_GROUPS)
        return [replace(group, key=key) for key in keys]

    def _imagined_rows(self, rows: int) -> list[list[Group]]:
        """One made-up group of so many rows in each level."""
        return [[_imagined(level, rows)] for level in self.levels]


def _imagined(level: Level, rows: int) -> Group:
    key = tuple(None if key.values is None else key.values[0] for key in level.bounded.keys)
    sums = tuple(rows * measure.upper for measure in level.bounded.measures)
    tops = tuple((float(h.bounds[1]),) * len(h.probabilities) for h in level.bounded.histograms)
    return Group(key, 0, sums, quantiles=tops)


def assume_rows(assume: Mapping[str, int] | None) -> int | None:
    """The public number of rows in `assume`; raises `ParameterError` on anything else in it."""
    if not assume:
        return None
    rows = assume.get("rows")
    if set(assume) != {"rows"} or isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ParameterError('assume takes {"rows": n} with a whole number n of at least 1')
    return int(rows)
