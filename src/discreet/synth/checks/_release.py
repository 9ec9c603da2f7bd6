"""What a check found: distances and a classifier's scores on private rows, with noise, and intervals from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from discreet.errors import ParameterError, QueryError
from discreet.marginals import Numbers
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss
from discreet.release import JsonRelease
from discreet.synth._checked import integers_from_json
from discreet.synth.checks._judged import accuracy, auc, confidence_of, interval_of, ranges

__all__ = ["Distance", "Scores", "SyntheticCheck", "limits_of"]

_LEAST_LEVEL = 1e-9
_MOST = 2**100
_MOST_RANGES = 1_000
_HIGHER_IS_BETTER = ("accuracy", "auc")


@dataclass(frozen=True, slots=True)
class Distance:
    """A noisy sum over marginals of so many columns: L1 distances from as many synthetic rows, in parts of a row.

    `sets` marginals of the `all_sets` that there are were compared, of so many `cells` in all; `grid` parts are a row.
    """

    width: int
    sets: int
    all_sets: int
    cells: int
    grid: int
    value: int
    mechanism: Additive

    @property
    def middle(self) -> float:
        """The estimate in rows: half of the mean distance."""
        return self.value / self._parts

    def off(self, level: float) -> float:
        """How far off `middle` is at most, by noise and by rounding synthetic rows to parts of a row."""
        return (float(self.mechanism.error(level)) + self.cells / 2) / self._parts

    @property
    def _parts(self) -> int:
        return 2 * self.sets * self.grid


@dataclass(frozen=True, slots=True)
class Scores:
    """Noisy counts of private rows by ranges of rising scores, of the other labels first, and then of the positive one.

    Rows whose score is in the range at `threshold`, or beyond, are taken to be positive.
    """

    positive: str
    ends: tuple[int, ...]
    threshold: int
    counts: tuple[int, ...]
    mechanism: Additive


@dataclass(frozen=True, repr=False)
class SyntheticCheck(JsonRelease):
    """How far a synthetic table is from the private rows. It may be shown to anyone: what is done with it is free.

    Attributes
    ----------
    table
        The private table.
    synthetic
        The digest of the synthetic table, as its certificate has it.
    rows, mechanism
        How many private rows there are, with noise, and which noise.
    distances
        For one column, two and three, what `interval` is computed from.
    scores
        The histogram of a classifier's scores; None without a target.
    limits
        What was to be accepted; see `accepted`.
    loss, certificate
        As of every release. Made by `discreet.synth.check`.
    """

    called = "check"
    fields = frozenset({"table", "synthetic", "rows", "distances", "scores"})
    left_out = "the answers and limits; they follow from what was measured"

    table: str
    synthetic: str
    rows: int
    mechanism: Additive
    distances: tuple[Distance, ...]
    scores: Scores | None
    limits: Mapping[str, float]
    loss: Loss
    certificate: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """What was estimated: ``"tv1"``, ``"tv2"`` and ``"tv3"``, and with a target ``"accuracy"`` and ``"auc"``.

        The first three are total variation distances between the private table's marginals of so many columns and
        those of rows of the synthetic table, a mean over the marginals that were compared; from 0 to 1.
        """
        distances = tuple(f"tv{each.width}" for each in self.distances)
        return distances if self.scores is None else (*distances, "accuracy", "auc")

    def estimate(self, name: str) -> float:
        """The estimate of one of `names`. Costs nothing. Raises `QueryError` for another name."""
        if name.startswith("tv"):
            return min(max(self._distance(name).middle / max(self.rows, 1), 0.0), 1.0)
        estimate, _ = self._judged(self._scored(name), name)
        return min(max(estimate, 0.0), 1.0)

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Between which numbers one of `names` is for the private rows, with a probability of `level` over the noise.

        For distances at least, for a classifier to first order in the noise. Costs nothing. Raises `QueryError` for
        another name, `ParameterError` unless 0 < level < 1. Source: ``proofs/synth_check.md``.
        """
        if not isinstance(level, Real) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"level must be between 0 and 1, both excluded, got {level!r}")
        if not name.startswith("tv"):
            scores = self._scored(name)
            _, slopes = self._judged(scores, name)
            return interval_of(self.estimate(name), slopes, scores.mechanism.std, float(level))
        each, half = self._distance(name), (1 + float(level)) / 2
        rows_off = float(self.mechanism.error(half))
        middle, off, fewest = each.middle, each.off(half) + rows_off / 2, self.rows - rows_off
        if fewest < 1:
            return 0.0, 1.0
        lower, upper = max(middle - off, 0.0), max(middle + off, 0.0)
        return min(lower / (self.rows + rows_off), 1.0), min(upper / fewest, 1.0)

    def error(self, name: str, level: float = 0.95) -> float:
        """How far off the estimate of one of `names` is at most, as `interval` has it."""
        lower, upper = self.interval(name, level)
        estimate = self.estimate(name)
        return max(upper - estimate, estimate - lower, 0.0)

    @property
    def accepted(self) -> bool:
        """Whether every estimate is within its limit: distances at most as large, accuracy and AUC at least.

        By the noisy estimates alone; `confidence` says how sure that is of each.
        """
        return all(self._within(name) for name in self.limits)

    def confidence(self, name: str) -> float:
        """The highest level at which the interval of one of `names` leaves its limit out: how sure the answer is of it.

        0 where no interval does. Raises `QueryError` where no limit was asked for.
        """
        if name not in self.limits:
            raise QueryError(f"no limit was asked for {name!r}; ask as in accept={{'tv2': 0.05}}")
        return confidence_of(lambda level: self.interval(name, max(level, _LEAST_LEVEL)), self.limits[name])

    def _within(self, name: str) -> bool:
        estimate, limit = self.estimate(name), self.limits[name]
        return estimate >= limit if name in _HIGHER_IS_BETTER else estimate <= limit

    def _distance(self, name: str) -> Distance:
        for each in self.distances:
            if name == f"tv{each.width}":
                return each
        raise QueryError(f"nothing was estimated under the name {name!r}; there are {', '.join(self.names)}")

    def _scored(self, name: str) -> Scores:
        if self.scores is None or name not in _HIGHER_IS_BETTER:
            raise QueryError(f"nothing was estimated under the name {name!r}; there are {', '.join(self.names)}")
        return self.scores

    def _judged(self, scores: Scores, name: str) -> tuple[float, Numbers]:
        counts = ranges(scores.counts)
        return auc(counts) if name == "auc" else accuracy(counts, scores.threshold)

    def content(self) -> dict[str, Any]:
        """What was measured, with which noise."""
        scores = self.scores
        return {
            "table": self.table,
            "synthetic": self.synthetic,
            "rows": {"value": self.rows, **additive_to_json(self.mechanism)},
            "distances": [
                {
                    "columns": each.width, "sets": each.sets, "all_sets": each.all_sets,
                    "cells": each.cells, "grid": each.grid, "value": each.value, **additive_to_json(each.mechanism),
                }
                for each in self.distances
            ],
            "scores": None if scores is None else {
                "positive": scores.positive, "ends": list(scores.ends), "threshold": scores.threshold,
                "counts": list(scores.counts), **additive_to_json(scores.mechanism),
            },
        }  # fmt: skip

    def derived(self, level: float) -> dict[str, Any]:
        """What follows from what was measured, at `level`, and whether it is accepted."""
        answers = {
            name: {"estimate": self.estimate(name), "interval": list(self.interval(name, level))} for name in self.names
        }
        return {"answers": answers, "level": level, "limits": dict(self.limits), "accepted": self.accepted}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> SyntheticCheck:
        """The inverse of `content`, with the limits that are beside it."""
        distances = tuple(map(_distance_from_json, content["distances"]))
        scores = None if content["scores"] is None else _scores_from_json(content["scores"])
        if [each.width for each in distances] != list(range(1, len(distances) + 1)) or len(distances) > 3:
            raise ValueError
        return cls(
            table=str(content["table"]),
            synthetic=str(content["synthetic"]),
            rows=_count(content["rows"]["value"]),
            mechanism=_mechanism(content["rows"]),
            distances=distances,
            scores=scores,
            limits=limits_of(content["limits"], has_scores=scores is not None, widths=len(distances)),
            loss=loss,
            certificate=certificate,
        )

    def header(self) -> list[tuple[str, bool]]:
        """What was estimated, its interval, and whether it is within its limit."""
        return [("measure", False), ("estimate", True), ("interval", True), ("limit", True), ("accepted", False)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each of `names` as text."""
        rows: list[list[str]] = []
        for name in self.names[:first]:
            lower, upper = self.interval(name, level)
            row = [_WORDS[name], f"{self.estimate(name):.4f}", f"{lower:.4f} to {upper:.4f}", "", ""]
            if name in self.limits:
                verdict = "yes" if self._within(name) else "no"
                row[3:] = [f"{self.limits[name]:g}", f"{verdict}, at a level of {self.confidence(name):.3f}"]
            rows.append(row)
        return rows

    def note(self, level: float = 0.95) -> str:
        """What was compared."""
        return f"synthetic {self.table} and about {max(self.rows, 0):,} private rows; intervals at {100 * level:.10g} %"

    def footnotes(self, level: float = 0.95, first: int | None = None) -> list[str]:  # noqa: ARG002
        """Which marginals were compared, and what the classifier is."""
        some = [f"{each.sets:,} of {each.all_sets:,} marginals of {each.width} columns"
                for each in self.distances if each.sets < each.all_sets]  # fmt: skip
        lines = [f"compared are {', '.join(some)}, chosen at random"] if some else []
        if self.scores is not None:
            lines.append(f"a points score for {self.scores.positive}, learnt from synthetic rows alone")
        return lines


_WORDS = {
    "tv1": "TV distance, 1 column", "tv2": "TV distance, 2 columns", "tv3": "TV distance, 3 columns",
    "accuracy": "accuracy on private rows", "auc": "AUC on private rows",
}  # fmt: skip


def limits_of(accept: object, *, has_scores: bool, widths: int) -> dict[str, float]:
    """What is to be accepted, checked. Raises `ParameterError` for a name that is not estimated, or no number."""
    names = [f"tv{width}" for width in range(1, widths + 1)] + (["accuracy", "auc"] if has_scores else [])
    if not isinstance(accept, Mapping):
        raise ParameterError("accept is a limit for each measure, as in accept={'tv2': 0.05}")
    limits: dict[str, float] = {}
    for name, limit in accept.items():  # pyright: ignore[reportUnknownVariableType]
        if name not in names:
            more = "; accuracy and auc need a target" if name in _HIGHER_IS_BETTER else ""
            raise ParameterError(f"accept has {name!r}, which is not estimated; there are {', '.join(names)}{more}")
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1:
            raise ParameterError(f"accept: the limit of {name} is a number from 0 to 1, not {limit!r}")
        limits[str(name)] = float(limit)  # pyright: ignore[reportUnknownArgumentType]
    return limits


def _distance_from_json(data: Mapping[str, Any]) -> Distance:
    numbers = integers_from_json([data[name] for name in ("columns", "sets", "all_sets", "cells", "grid")])
    width, sets, count, cells, grid = numbers
    if not 1 <= sets <= count <= _MOST or not 1 <= cells <= _MOST or not 1 <= grid <= _MOST:
        raise ValueError
    return Distance(width, sets, count, cells, grid, _count(data["value"]), _mechanism(data))


def _scores_from_json(data: Mapping[str, Any]) -> Scores:
    ends, counts = integers_from_json(data["ends"]), integers_from_json(data["counts"])
    threshold = _count(data["threshold"])
    if len(counts) != 2 * (len(ends) + 1) or len(ends) > _MOST_RANGES or not 0 < threshold <= len(ends):
        raise ValueError
    return Scores(str(data["positive"]), ends, threshold, tuple(map(_count, counts)), _mechanism(data))


def _count(number: object) -> int:
    if type(number) is not int or abs(number) > _MOST:
        raise ValueError
    return number


def _mechanism(data: Mapping[str, Any]) -> Additive:
    return additive_from_json({name: data[name] for name in ("mechanism", "scale", "sigma") if name in data})
