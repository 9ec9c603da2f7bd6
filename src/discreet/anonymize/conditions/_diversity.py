"""l-diversity: several values of a sensitive column in every class. Source: Machanavajjhala et al. 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.conditions._condition import Check, Condition, Counts
from discreet.anonymize.tables import Column
from discreet.errors import ParameterError

__all__ = ["LDiversity"]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class LDiversity(Condition):
    """Every class has l well represented values of the sensitive column.

    Attributes
    ----------
    column
        The sensitive column.
    l
        How many.
    kind
        ``"distinct"``: l different values (p-sensitivity is the same). ``"entropy"``: the entropy of the values is at
        least that of l equally frequent ones. ``"recursive"``: the most frequent value occurs fewer times than `c`
        times all from the l-th most frequent on.
    c
        Of the recursive kind.

    >>> LDiversity("salary", 2).to_json()
    {'model': 'l-diversity', 'column': 'salary', 'l': 2, 'kind': 'distinct'}
    """

    l: float  # noqa: E741 - the field's own letter
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float = 1.0

    def __post_init__(self) -> None:
        """Raises `ParameterError` for parameters out of their range."""
        if self.kind not in ("distinct", "entropy", "recursive"):
            raise ParameterError(f"the kind of l-diversity is distinct, entropy or recursive, not {self.kind!r}")
        if not (self.l >= 1 and math.isfinite(self.l)) or (self.kind != "entropy" and self.l != int(self.l)):
            raise ParameterError(f"l is a whole number of values, 1 or more, not {self.l!r}")
        if not (self.c > 0 and math.isfinite(self.c)):
            raise ParameterError(f"c of recursive l-diversity is a positive number, not {self.c!r}")

    def check(self, column: Column) -> Check:
        """See `Condition.check`."""
        if self.l > column.size:
            raise ParameterError(
                f"{column.name} has {column.size:,} different values, and l-diversity asks for {self.l:g}: lower l"
            )
        return _DiversityCheck(self)

    def to_json(self) -> dict[str, Any]:
        """See `Condition.to_json`."""
        stated: dict[str, Any] = {"model": "l-diversity", "column": self.column, "l": self.l, "kind": self.kind}
        return {**stated, "c": self.c} if self.kind == "recursive" else stated


@dataclass(frozen=True)
class _DiversityCheck(Check):
    condition: LDiversity

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        level = self.condition.l
        match self.condition.kind:
            case "distinct":
                return np.count_nonzero(counts, axis=1) >= level
            case "entropy":
                shares = counts / counts.sum(axis=1, keepdims=True)
                logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
                return -(shares * logs).sum(axis=1) >= math.log(level) - _ROUNDING
            case _:
                ordered = -np.sort(-counts, axis=1)
                return ordered[:, 0] < self.condition.c * ordered[:, int(level) - 1 :].sum(axis=1)
