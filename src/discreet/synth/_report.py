"""A fit against its own measurements: what it costs to know is nothing, since both are public.

How far a model is from noisy counts is compared with how far noise alone would take exact ones. What a fit did not
measure is not in here: nothing that is public says how true it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.polynomial.legendre import leggauss

from discreet.errors import LedgerError, ParameterError
from discreet.marginals import Clique, ColumnCells, Measurement, Merge, Model, Numbers
from discreet.mechanisms import DiscreteLaplace
from discreet.prices import Additive, Prices
from discreet.privacy import Loss, from_json, in_words, to_json
from discreet.query import PlanTable, ShownTable
from discreet.synth._discovery import main_share
from discreet.synth._verify import certified_norms, step_costs

__all__ = ["BudgetStep", "MarginalFit", "SynthesisReport", "make_report", "merged_texts"]

_STANDS_OUT = 4.0
_NEVER = 1e-9
"""A standard deviation that no draw is seen of."""
_FIRST = 50
_POINTS = 200
_NUMBERS = ("cells", "distance", "noise alone")


class _MeasuredMarginal(Protocol):
    @property
    def clique(self) -> Clique: ...
    @property
    def counts(self) -> tuple[int, ...]: ...
    @property
    def mechanism(self) -> Additive: ...


class _Fitted(Protocol):
    """What a report is made of: a synthetic table."""

    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> tuple[ColumnCells, ...]: ...
    @property
    def merges(self) -> tuple[Merge, ...]: ...
    @property
    def total(self) -> float: ...
    @property
    def measured(self) -> Sequence[_MeasuredMarginal]: ...
    @property
    def loss(self) -> Loss: ...
    @property
    def certificate(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class MarginalFit:
    """One marginal as the model has it, beside what was measured of it.

    Attributes
    ----------
    columns
        Their names.
    texts
        For each column what its cells hold, in words: public cells of a single column, merged ones of several.
    measured, model
        The count in each cell, in C order: as it was measured, with noise, and in the model. What was measured several
        times is the mean by precision.
    mechanisms
        The noise of each time that it was measured.
    total
        How many rows the model has.
    """

    columns: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    measured: Numbers
    model: Numbers
    mechanisms: tuple[Additive, ...]
    total: float

    @property
    def name(self) -> str:
        """The columns in one text."""
        return " × ".join(self.columns)

    @property
    def std(self) -> float:
        """The standard deviation of the noise in each cell."""
        precision = _precision(self.mechanisms)
        return 0.0 if math.isinf(precision) else precision**-0.5

    @property
    def distance(self) -> float:
        """The total variation between model and measurement: half the sum of their differences, in parts of all rows.

        It is no distance from the real table: it has the noise of the measurement in it.
        """
        return float(np.abs(self.model - self.measured).sum()) / (2 * self.total)

    @property
    def noise_distance(self) -> float:
        """What `distance` would be on average if the model were right, by the noise alone."""
        return len(self.measured) * self._mean / (2 * self.total)

    @property
    def excess(self) -> float:
        """By how many standard deviations `distance` is above `noise_distance`; below 0 if it is nearer."""
        variance = len(self.measured) * max(self.std**2 - self._mean**2, 0.0)
        beyond = 2 * self.total * (self.distance - self.noise_distance)
        if variance == 0:
            return 0.0 if beyond < 1 else math.inf
        return beyond / math.sqrt(variance)

    @property
    def stands_out(self) -> bool:
        """Whether the model is farther from the measurement than noise explains: by over four standard deviations."""
        return self.excess > _STANDS_OUT

    @property
    def _mean(self) -> float:
        """The mean absolute value of the noise in one cell."""
        return _mean_absolute(self.mechanisms)

    @property
    def worst(self) -> int:
        """The cell in which model and measurement differ the most."""
        return int(np.argmax(np.abs(self.model - self.measured)))

    def text(self, cell: int) -> str:
        """What a cell holds, in words."""
        places = np.unravel_index(cell, [len(each) for each in self.texts])
        named = zip(self.columns, self.texts, places, strict=True)
        return ", ".join(f"{name} {texts[place]}" for name, texts, place in named)


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """One step of a fit: `columns` were measured, or chosen among so many `candidates`, for a `share` of the spend.

    `stage` is ``"keys"`` for keys that were discovered first, ``"columns"`` for single columns, ``"network"``, or
    ``"round 1"`` and so on.
    """

    stage: str
    columns: tuple[str, ...]
    candidates: int | None
    share: float

    @property
    def verb(self) -> str:
        """What it did: ``"measured"``, ``"chosen"`` or ``"discovered"``."""
        if self.stage == "keys":
            return "discovered"
        return "measured" if self.candidates is None else "chosen"


@dataclass(frozen=True, slots=True, repr=False)
class SynthesisReport(ShownTable):
    """The marginals of a fit against their measurements, and its budget step by step. Made by `SyntheticTable.report`.

    Attributes
    ----------
    table, total, loss
        As the synthetic table has them.
    marginals
        All that were measured, in the order of their first measurement.
    steps
        All mechanisms that ran, in order.
    pairs, pairs_measured
        How many pairs of columns there are, and of how many of them a marginal was measured that holds both.
    """

    table: str
    total: float
    marginals: tuple[MarginalFit, ...]
    steps: tuple[BudgetStep, ...]
    pairs: int
    pairs_measured: int
    loss: Loss

    @property
    def standing_out(self) -> tuple[MarginalFit, ...]:
        """The marginals that the model has farther from the measurement than noise explains, the farthest first."""
        return tuple(sorted((each for each in self.marginals if each.stands_out), key=lambda each: -each.excess))

    def stages(self) -> dict[str, float]:
        """The share of the spend by stage, in order."""
        shares: dict[str, float] = {}
        for step in self.steps:
            shares[step.stage] = shares.get(step.stage, 0.0) + step.share
        return shares

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON; counts cell by cell are in the synthetic table itself."""
        return {
            "table": self.table,
            "total": self.total,
            "marginals": [_marginal_to_dict(each) for each in self.marginals],
            "steps": [
                {
                    "stage": each.stage,
                    "does": each.verb,
                    "columns": list(each.columns),
                    "candidates": each.candidates,
                    "share": each.share,
                }
                for each in self.steps
            ],
            "pairs": self.pairs,
            "pairs_measured": self.pairs_measured,
            "loss": to_json(self.loss),
        }

    def shown(self) -> PlanTable:
        """A row for each marginal, those that stand out first, as `print` and notebooks show them."""
        ordered = [*self.standing_out, *(each for each in self.marginals if not each.stands_out)]
        rows = [
            (
                each.name,
                f"{len(each.measured):,}",
                f"{each.distance:.4f}",
                f"{each.noise_distance:.4f}",
                "stands out" if each.stands_out else "",
                _worst(each),
            )
            for each in ordered[:_FIRST]
        ]
        header = ("marginal", "cells", "distance", "noise alone", "", "largest difference")
        return PlanTable(header, rows, self._notes(len(ordered)), _NUMBERS)

    def steps_table(self) -> PlanTable:
        """A row for each step: its stage, what it did, its share of the spend, and the share spent so far."""
        rows: list[tuple[str, ...]] = []
        spent = 0.0
        for each in self.steps:
            spent += each.share
            out = "" if each.candidates is None else f" out of {each.candidates:,}"
            rows.append(
                (each.stage, f"{each.verb}{out}", " × ".join(each.columns), f"{each.share:.2%}", f"{spent:.2%}")
            )
        return PlanTable(("stage", "step", "marginal", "share", "so far"), rows, (), ("share", "so far"))

    def _notes(self, marginals: int) -> list[str]:
        out, left = len(self.standing_out), self.pairs - self.pairs_measured
        stages = self.stages()
        rounds = [share for name, share in stages.items() if name.startswith("round")]
        parts = [f"{name} {share:.1%}" for name, share in stages.items() if not name.startswith("round")]
        if rounds:
            parts.append(f"{len(rounds):,} round{'' if len(rounds) == 1 else 's'} {sum(rounds):.1%}")
        standing = f"{out:,} of which {'stand' if out > 1 else 'stands'} out" if out else "none stands out"
        notes = [
            f"{marginals:,} marginals, {standing}; distance is total variation, model and noisy measurement",
            f"budget: {', '.join(parts)}; cost {in_words(self.loss)}",
        ]
        if marginals > _FIRST:
            notes.insert(0, f"first {_FIRST} of {marginals:,}")
        if left:
            notes.append(
                f"{left:,} of {self.pairs:,} pairs of columns were not measured: nothing here says how true they are"
            )
        return notes


def make_report(fitted: _Fitted, model: Model) -> SynthesisReport:
    """The report of a synthetic table. Raises `LedgerError` where its certificate cannot be followed."""
    try:
        return _report(fitted, model)
    except (ParameterError, KeyError, ValueError, TypeError, ArithmeticError):
        raise LedgerError("the certificate of this synthetic table cannot be followed: it is malformed") from None


def _report(fitted: _Fitted, model: Model) -> SynthesisReport:
    marginals: dict[tuple[Clique, int], list[_MeasuredMarginal]] = {}
    for each in fitted.measured:
        marginals.setdefault((each.clique, len(each.counts)), []).append(each)
    columns = len(fitted.columns)
    held = {pair for clique, _ in marginals for pair in _pairs(clique)}
    return SynthesisReport(
        table=fitted.table,
        total=fitted.total,
        marginals=tuple(_marginal(fitted, model, clique, size, times) for (clique, size), times in marginals.items()),
        steps=tuple(_steps(fitted.certificate, fitted.loss)),
        pairs=columns * (columns - 1) // 2,
        pairs_measured=len(held),
        loss=fitted.loss,
    )


def _pairs(clique: Clique) -> Iterable[tuple[int, int]]:
    return ((a, b) for i, a in enumerate(clique) for b in clique[i + 1 :])


def _marginal(
    fitted: _Fitted, model: Model, clique: Clique, size: int, times: Sequence[_MeasuredMarginal]
) -> MarginalFit:
    merges = [fitted.merges[column] for column in clique]
    is_public = len(clique) == 1 and size == len(merges[0].into)
    expected = fitted.total * model.marginal(clique)
    if is_public:
        expected = expected[merges[0].places] * np.array(merges[0].shares)
    mechanisms = tuple(each.mechanism for each in times)
    mean: Measurement | None = None
    for each in times:
        counts, variances = np.array(each.counts, np.float64), np.full(size, max(each.mechanism.std, _NEVER) ** 2)
        mean = Measurement(clique, counts, variances) if mean is None else mean.with_counts(counts, variances)
    assert mean is not None
    texts = tuple(
        tuple(column.text(cell) for cell in range(column.size)) if is_public else merged_texts(column, merge)
        for column, merge in zip((fitted.columns[column] for column in clique), merges, strict=True)
    )
    names = tuple(fitted.columns[column].name for column in clique)
    return MarginalFit(names, texts, mean.counts, expected, mechanisms, max(fitted.total, 1.0))


def merged_texts(column: ColumnCells, merge: Merge) -> tuple[str, ...]:
    """What each merged cell holds, in words."""
    inside: list[list[int]] = [[] for _ in range(merge.size)]
    for cell, into in enumerate(merge.into):
        inside[into].append(cell)
    return tuple(_merged(column, each) for each in inside)


def _merged(column: ColumnCells, cells: Sequence[int]) -> str:
    if len(cells) == 1:
        return column.text(cells[0])
    if not column.is_ordered:
        return f"one of {len(cells)} rare values"
    return f"{column.text(cells[0]).split(' to ')[0]} to {column.text(cells[-1]).split(' to ')[-1]}"


def _steps(certificate: Mapping[str, Any], loss: Loss) -> list[BudgetStep]:
    fit = from_json(certificate["fit_loss"])
    total = Prices.of_spend(fit, certified_norms(certificate)).total / main_share(fit, loss)
    shares = [float(cost / total) for cost in step_costs(certificate)]
    listed = certificate["steps"]
    steps = [
        BudgetStep("keys", (str(each["column"]),), None, float(main_share(from_json(each["loss"]), loss)))
        for each in certificate["keys"]
    ]
    rounds, in_round = 0, False
    for i, (data, share) in enumerate(zip(listed, shares, strict=True)):
        columns = tuple(map(str, data.get("chosen", data.get("measured"))))
        after = listed[i + 1].get("measured") if i + 1 < len(listed) else None
        if "chosen" in data and after == data["chosen"] and steps[-1].candidates is None:
            rounds, in_round = rounds + 1, True
        elif "chosen" in data:
            in_round = False
        stage = f"round {rounds}" if in_round else "columns" if len(columns) == 1 else "network"
        steps.append(BudgetStep(stage, columns, data.get("candidates"), share))
    return steps


def _precision(mechanisms: Sequence[Additive]) -> float:
    """The precision of a mean by precision; infinite where noise is as good as never there."""
    return sum((each.std**-2 if each.std > _NEVER else math.inf for each in mechanisms), 0.0)


def _mean_absolute(mechanisms: Sequence[Additive]) -> float:
    """The mean absolute value of a mean by precision of independent noises.

    E|Z| = (2/π) ∫ (1 − φ(t)) / t² dt over t > 0 for the characteristic function φ, with t = tan(u) / σ.
    """
    precision = _precision(mechanisms)
    if math.isinf(precision):
        return 0.0
    if len(mechanisms) == 1:
        (only,) = mechanisms
        if isinstance(only, DiscreteLaplace):
            return 1 / math.sinh(1 / float(only.scale))
        return math.sqrt(2 / math.pi) * only.std
    spread = precision**-0.5
    nodes, weights = leggauss(_POINTS)
    angles = (nodes + 1) * math.pi / 4
    through = np.ones(_POINTS)
    for each in mechanisms:
        scaled = np.tan(angles) / spread * (each.std**-1 / precision)
        if isinstance(each, DiscreteLaplace):
            through = through / (1 + scaled**2 / 2)
        else:
            through = through * np.exp(-(scaled**2) / 2)
    return float(2 / math.pi * spread * (weights * (1 - through) / np.sin(angles) ** 2).sum() * math.pi / 4)


def _worst(each: MarginalFit) -> str:
    cell = each.worst
    return f"{each.text(cell)}: {each.measured[cell]:,.0f} measured, {each.model[cell]:,.0f} in the model"


def _marginal_to_dict(each: MarginalFit) -> dict[str, Any]:
    cell = each.worst
    return {
        "columns": list(each.columns),
        "cells": len(each.measured),
        "times": len(each.mechanisms),
        "std": each.std,
        "distance": each.distance,
        "noise_distance": each.noise_distance,
        "stands_out": each.stands_out,
        "largest": {"cell": each.text(cell), "measured": float(each.measured[cell]), "model": float(each.model[cell])},
    }
