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
from discreet.query._bounded import BoundedAggregate, Group
from discreet.query._noise import Noise, NoiseMechanism
from discreet.query._top_keys import top_keys_to_json
from discreet.sensitivity import Norms

__all__ = ["FORMAT", "Plan", "assume_rows"]

FORMAT = 1
"""Number of the plan format; it enters every plan's hash, so a change of meaning never reuses a stored answer."""

_MOST_GROUPS = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked query. Making one costs nothing and touches no data; see `explain`."""

    sql: str
    select: exp.Select
    bounded: BoundedAggregate
    aggregates: tuple[Aggregate, ...]
    unit: Unit
    spend: Loss | None
    norms: tuple[Norms, ...]
    noise: Noise | None
    rows: int | None = None

    def hash(self, policy: Policy) -> str:
        """SHA-256 of the canonical plan, the policy's digest, its version label, the spend and the plan format.

        Where keys are chosen before noise, of the choice as well.
        """
        content = {
            "format": FORMAT,
            "query": self.sql,
            "policy": policy.digest(),
            "version": policy.version,
            "spend": None if self.noise is None else to_json(self.noise.loss),
        }
        if self.noise is not None and self.noise.top_keys is not None:
            content["top_keys"] = top_keys_to_json(self.noise.top_keys)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def loss(self) -> Loss | None:
        """What running the plan will charge; None without a spend."""
        return None if self.noise is None else self.noise.loss

    @property
    def noisy(self) -> tuple[str, ...]:
        """The output columns that will carry noise, in order; the others are keys."""
        return tuple(self._answer([self._imagined(1)], noises=None).shapes)

    def check_result(self) -> None:
        """Raise `QueryError` if the result, HAVING, ORDER BY or LIMIT asks for something that cannot be evaluated.

        The result is computed once from made-up numbers, so that nothing is left to fail after the budget is spent.
        """
        try:
            self._answer([self._imagined(10)], noises=None)
        except QueryError as error:
            raise QueryError(self._in_sql(str(error))) from None

    def error(self, column: str, level: float = 0.95) -> float | None:
        """The half-width of an output column where it does not depend on data; None where it does.

        Under ``assume={"rows": n}`` an average is taken to rest on n rows, spread evenly over the public groups, and
        to lie at the edge of its bounds; its half-width is approximate. Where a public key is a factor of the answer,
        the half-width is that of the widest key. None for what hangs on a quantile: `explain` has its error
        in rank. Raises `ParameterError` without a spend.
        """
        if self.noise is None:
            raise ParameterError("errors need a spend: plan(query, spend=…)")
        groups = self._imagined_groups(self._rows_per_group())
        named = [item for item in self.select.expressions if item.alias == column] or self.select.expressions
        alone = exp.Select(expressions=[item.copy() for item in named])  # no HAVING: an imagined row need not pass it
        result = answer(alone, self.bounded, self.aggregates, groups, self.noise.mechanisms)
        shape = result.shape(column)
        if QUANTILE in shape.slopes:
            return None
        private = {key.name for key in self.bounded.keys if key.values is None}
        if (not shape.linear and self.rows is None) or any(c.name in private for c in alone.find_all(exp.Column)):
            return None
        halves = result.error(column, level)
        return None if np.isnan(halves).all() else float(np.nanmax(halves))

    def finish(self, noisy: Sequence[Group]) -> Answer:
        """The answer to the query from groups that have had their noise: post-processing."""
        assert self.noise is not None
        return self._answer(noisy, self.noise.mechanisms)

    def explain(self, level: float = 0.95) -> str:
        """What the plan does, in words and one line for each output column."""
        from discreet.query._explain import explain

        return explain(self, level)

    def _answer(self, groups: Sequence[Group], noises: Sequence[NoiseMechanism] | None) -> Answer:
        return answer(self.select, self.bounded, self.aggregates, groups, noises)

    def _in_sql(self, message: str) -> str:
        """The message with aggregates in place of the placeholders that stand for them."""
        for i in reversed(range(len(self.aggregates))):
            message = message.replace(f":a{i}", self.aggregates[i].sql)
        return message

    @property
    def rows_per_group(self) -> int | None:
        """The public number of rows that was assumed, spread evenly over the public groups; None if none was."""
        return None if self.rows is None else self._rows_per_group()

    def _rows_per_group(self) -> int:
        size = 1
        for key in self.bounded.keys:
            size *= len(key.values or (None,))
        return max((self.rows or 0) // size, 1)

    def _imagined_groups(self, rows: int) -> list[Group]:
        """A group for each combination of the public keys that the result computes with."""
        named = {column.name for item in self.select.expressions for column in item.find_all(exp.Column)}
        group = self._imagined(rows)
        choices = [key.values if key.values and key.name in named else (None,) for key in self.bounded.keys]
        keys = itertools.islice(itertools.product(*choices), _MOST_GROUPS)
        return [replace(group, key=key) for key in keys]

    def _imagined(self, rows: int) -> Group:
        key = tuple(None if key.values is None else key.values[0] for key in self.bounded.keys)
        sums = tuple(rows * measure.upper for measure in self.bounded.measures)
        tops = tuple((float(h.bounds[1]),) * len(h.probabilities) for h in self.bounded.histograms)
        return Group(key, 0, sums, quantiles=tops)


def assume_rows(assume: Mapping[str, int] | None) -> int | None:
    """The public number of rows in `assume`; raises `ParameterError` on anything else in it."""
    if not assume:
        return None
    rows = assume.get("rows")
    if set(assume) != {"rows"} or isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ParameterError('assume takes {"rows": n} with a whole number n of at least 1')
    return int(rows)
