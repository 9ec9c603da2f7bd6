"""Rows of a result after noise: what each aggregate, key and expression of them is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._aggregates import Aggregate
from discreet.query._arithmetic import evaluate, is_whole, rounding
from discreet.query._conditions import keep_rows
from discreet.query._dual import Dual
from discreet.query._labels import is_label, label
from discreet.query._moments import Sums, read

if TYPE_CHECKING:
    from discreet.query._conditions import Values

__all__ = ["Rows", "leaves_of"]

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Rows:
    """`leaves` are the aggregates ``a0``, ``a1``, … and the numeric keys; `exact` those that are whole numbers."""

    size: int
    leaves: Mapping[str, Dual]
    keys: Mapping[str, Values]
    exact: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])

    def column(self, node: exp.Expr) -> Values:
        """An item as the result shows it, or any part of a condition."""
        inner = node.unnest()
        if isinstance(inner, exp.Column):
            return self.keys[inner.name] if inner.name in self.keys else _ungrouped(inner)
        numbers = self.exact.get(inner.name) if isinstance(inner, exp.Placeholder) else None
        if numbers is not None:
            return pa.array([max(-_INT64, min(number, _INT64 - 1)) for number in numbers], pa.int64())
        if is_label(inner, self.keys):
            return label(inner, self.column, self.holds, self.size)
        of, digits = rounding(inner)
        value = self.dual(of).value
        with np.errstate(all="ignore"):
            value = value if digits is None else np.round(value, digits)
        if is_whole(inner):
            whole_numbers = np.clip(np.nan_to_num(value), -_INT64, np.nextafter(_INT64, 0)).astype(np.int64)
            return pa.array(whole_numbers, mask=~np.isfinite(value))
        return pa.array(value, mask=~np.isfinite(value))

    def holds(self, condition: exp.Expr) -> NDArray[np.bool_]:
        """In which rows a condition on the result holds."""
        return keep_rows(condition, self.column).to_numpy(zero_copy_only=False)

    def dual(self, node: exp.Expr) -> Dual:
        """An expression of aggregates and numeric keys, with its slopes by each measure."""
        for column in node.find_all(exp.Column):
            if column.name in self.keys and column.name not in self.leaves and not column.find_ancestor(exp.If):
                raise QueryError(f"{column.name} is not a number, so {node.sql()} cannot be computed")
            if column.name not in self.keys:
                _ungrouped(column)
        return evaluate(node, self.leaves, self.size, self.holds)


def leaves_of(aggregates: Mapping[str, Aggregate], sums: Sums, keys: Mapping[str, Values]) -> dict[str, Dual]:
    """The aggregates that are read off sums, by their names, and the keys that are numbers."""
    leaves = {name: read(aggregate, sums) for name, aggregate in aggregates.items() if aggregate.quantile is None}
    for name, column in keys.items():
        if pa.types.is_integer(column.type):
            number = pc.cast(column, pa.float64(), safe=False)  # beyond 2**53 as the nearest double, not an error
            leaves[name] = Dual(np.asarray(number.to_numpy(zero_copy_only=False)), {})
    return leaves


def _ungrouped(column: exp.Column) -> Values:
    raise QueryError(
        f"{column.name} is neither in GROUP BY nor inside an aggregate, so it would release rows of people"
    )
