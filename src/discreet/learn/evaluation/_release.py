"""An evaluation as a release: noisy counts, and accuracy or errors from them, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.charts import chart, load_altair
from discreet.errors import ParameterError, QueryError
from discreet.learn._inputs import LEVELS, Input
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["Evaluation"]

_MOST = 2**100
_MOST_INT64 = 2**40
"""Counts below this can be added up as int64, however many classes there are."""


@dataclass(frozen=True, repr=False)
class Evaluation(JsonRelease):
    """How well a model predicts private rows. It may be shown to anyone: what is done with it is free.

    Attributes
    ----------
    model
        The digest of the model, as its certificate has it.
    target
        What it predicts.
    counts
        Of classes how many rows were predicted as one and are another, with noise, in rows of what was predicted; of a
        number three noisy sums.
    mechanism
        The noise in each count.
    loss, certificate
        As of every release. Made by `discreet.learn.evaluate`.
    """

    called = "evaluation"
    fields = frozenset({"model", "target", "counts", "noise"})
    left_out = "the estimates; they follow from what was counted"

    model: str
    target: Input
    counts: tuple[int, ...]
    mechanism: Additive
    loss: Loss
    certificate: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Of classes ``"accuracy"``; of a number ``"mean_absolute_error"`` and ``"root_mean_squared_error"``."""
        return ("mean_absolute_error", "root_mean_squared_error") if self.target.is_number else ("accuracy",)

    @property
    def confusion(self) -> NDArray[Any]:
        """Noisy counts of rows by predicted and actual class, as int64, or Python ints where they are larger.

        Raises `QueryError` for a number.
        """
        if self.target.is_number:
            raise QueryError(f"{self.target.name} is a number; it has no classes")
        largest = max(map(abs, self.counts), default=0)
        counts = np.array(self.counts, np.int64 if largest < _MOST_INT64 else object)
        return counts.reshape(self.target.size, self.target.size)

    def estimate(self, name: str) -> float:
        """The estimate of one of `names`. Costs nothing. Raises `QueryError` for another name."""
        estimate, _ = self._estimated(name)
        return estimate

    def error(self, name: str, level: float = 0.95) -> float:
        """How far off the estimate is for these rows, with a probability of `level`, to first order in the noise.

        Costs nothing. Raises `QueryError` for another name, `ParameterError` unless 0 < level < 1.
        """
        from scipy.special import ndtri

        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, both excluded, got {level!r}")
        _, std = self._estimated(name)
        return float(ndtri((1 + level) / 2)) * std

    def _estimated(self, name: str) -> tuple[float, float]:
        """The estimate and its standard deviation."""
        if name not in self.names:
            raise QueryError(f"nothing was estimated under the name {name!r}; there are {', '.join(self.names)}")
        std = float(self.mechanism.std)
        if not self.target.is_number:
            confusion = self.confusion
            total = max(float(confusion.sum()), 1.0)
            accuracy = min(max(float(np.trace(confusion)) / total, 0.0), 1.0)
            size = self.target.size
            spread = size * (1 - accuracy) ** 2 + (size**2 - size) * accuracy**2
            return accuracy, std * math.sqrt(spread) / total
        rows, absolute, squared = self.counts
        total = max(float(rows), 1.0)
        width = float(self.target.upper - self.target.lower)
        if name == "mean_absolute_error":
            share = min(max(absolute / total, 0.0), 1.0)
            return share * width, std * math.sqrt(1 + share**2) / total * width
        share = min(max(squared / total, 0.0), 1.0)
        root = math.sqrt(share)
        return root * width, std * math.sqrt(1 + share**2) / total / (2 * max(root, 1 / LEVELS)) * width

    def plot(self, level: float = 0.95) -> Any:
        """It as an altair chart: of classes the noisy counts by predicted and actual class, of a number its errors.

        Costs nothing. Raises `MissingExtra` without altair, `ParameterError` unless 0 < level < 1.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        errors = {name: self.error(name, level) for name in self.names}
        notes = [f"{name.replace('_', ' ')} {self.estimate(name):.4g} ± {error:.2g}" for name, error in errors.items()]
        subtitle = f"{100 * level:.10g} % intervals of the noise, cost {in_words(self.loss)}"
        if self.target.is_number:
            table = pa.table({name: [self.estimate(name)] for name in errors})
            return chart(table, {name: [error] for name, error in errors.items()}, subtitle=subtitle)
        names = ["null" if each is None else str(each) for each in self.target.values or ()]
        table = pa.table({
            "predicted": [name for name in names for _ in names],
            "actual": [name for _ in names for name in names],
            "rows": [float(count) for count in self.counts],
        })  # fmt: skip
        half = float(self.mechanism.error(level))
        return chart(
            table, {"rows": [half] * table.num_rows}, words={"rows": f"rows of {self.target.name}"}, counts=["rows"],
            subtitle=subtitle, notes=notes,
        )  # fmt: skip

    def content(self) -> dict[str, Any]:
        """What was counted, of which model, with which noise."""
        return {
            "model": self.model,
            "target": self.target.to_json(),
            "counts": list(self.counts),
            "noise": additive_to_json(self.mechanism),
        }

    def derived(self, level: float) -> dict[str, Any]:
        """What follows from the counts at `level`."""
        answers = {name: {"estimate": self.estimate(name), "error": self.error(name, level)} for name in self.names}
        return {"answers": answers, "level": level}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Evaluation:
        """The inverse of `content`."""
        target, counts = Input.from_json(content["target"]), content["counts"]
        expected = 3 if target.is_number else target.size**2
        if (
            not isinstance(content["model"], str)
            or len(counts) != expected
            or any(type(count) is not int or abs(count) > _MOST for count in counts)
        ):
            raise ValueError
        return cls(content["model"], target, tuple(counts), additive_from_json(content["noise"]), loss, certificate)

    def header(self) -> list[tuple[str, bool]]:
        """What was estimated, and how far off it is."""
        return [("measure", False), ("estimate", True), ("error", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each of `names` as text."""
        return [
            [name.replace("_", " "), f"{self.estimate(name):.4g}", f"± {self.error(name, level):.2g}"]
            for name in self.names[:first]
        ]

    def note(self, level: float = 0.95) -> str:
        """What was compared."""
        return f"predictions of {self.target.name} on private rows; errors at {100 * level:.10g} %"
