"""What marginals would be measured and how wrong they would be, beside the least that is possible: free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.census.marginal_tables._measurement import Measurements
from discreet.census.marginal_tables._pictures import error_chart
from discreet.census.marginal_tables._question import PreparedMarginals
from discreet.charts import load_altair
from discreet.errors import printable
from discreet.prices import additive_to_json
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["MarginalsPlan", "plan_of"]


@dataclass(frozen=True, repr=False, eq=False)
class MarginalsPlan(ShownTable):
    """What marginals would be. Made by `plan_marginals`: it costs nothing and touches no data.

    Attributes
    ----------
    table
        What would be counted.
    measurements
        What would be measured, with which noise, and the variances that follow.
    objective
        What is minimised: the weighted sum of the variances of all cells, or the largest.
    least
        What no linear strategy with Gaussian noise can be below, or None where that is not known: for pure ε, and for
        neighbours that differ by the replacement of rows. It is that of continuous noise; noise that is drawn is of
        whole numbers, which varies by less than 1e-6 less (in ρ), or by 1/12 of a step more (in μ).
    loss
        What it would cost.
    unit, rows_per_unit
        Whom it protects: the column that names a person, or ``"rows"``; how many rows of one person count.
    """

    table: str
    measurements: Measurements
    objective: float
    least: float | None
    loss: Loss
    unit: str
    rows_per_unit: int

    def standard_error(self, *columns: str) -> float:
        """The standard error that each cell of the table over some columns would have.

        Raises `QueryError` where no marginal that is asked for has all of them.
        """
        variance, _ = self.measurements.of_cells(self.measurements.wanted.places(columns))
        return variance**0.5

    def error(self, *columns: str, confidence: float = 0.95) -> float:
        """How far a cell of a table would be from the truth at most, with a probability of about `confidence`.

        Raises as `standard_error`, and `ParameterError` for no confidence.
        """
        variance, step = self.measurements.of_cells(self.measurements.wanted.places(columns))
        return float(self.measurements.half_widths(np.array([variance]), np.array([step]), confidence)[0])

    def plot(self, level: float = 0.95) -> Any:
        """Half-widths of one cell of each marginal as an altair chart, of at most 40. Costs nothing.

        Raises `ParameterError` for no confidence, `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        return error_chart(self.measurements.named_half_widths(level), level, in_words(self.loss))

    def explain(self, confidence: float = 0.95) -> str:
        """What would be published and how wrong it would be, in words."""
        people = "every row is another person" if self.unit == "rows" else f"a person is a value of {self.unit}"
        wanted = self.measurements.wanted
        best = "" if self.least is None else f", {self.objective / self.least:.6f} times the least that is possible"
        what = "sum of the weighted variances of all cells" if wanted.minimized == "sum" else "largest variance"
        lines = [
            f"{len(wanted.marginals):,} marginals of {self.table} over {len(wanted.columns):,} columns.",
            "",
            f"Protected: {people}; at most {self.rows_per_unit:,} rows of one count.",
            f"Measured: {len(self.measurements.mechanisms):,} {self.measurements.form}.",
            f"Minimised: the {what}, {self.objective:,.6g}{best}.",
            "",
            f"Half-widths of one cell at {100 * confidence:.10g} %:",
        ]
        lines += [f"  {row[0]}: ± {row[3]}" for row in self.cells(confidence, 50)]
        lines += ["", f"Cost: {in_words(self.loss)}, once; tables and totals are free."]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        wanted = self.measurements.wanted
        errors = np.sqrt(self.measurements.errors.cell_variances).tolist()
        halves = self.measurements.cell_half_widths(level).tolist()
        return {
            "table": self.table,
            "form": self.measurements.form,
            "measured": [
                {"columns": list(wanted.named(each)), **additive_to_json(mechanism)}
                for each, mechanism in self.measurements.mechanisms.items()
            ],
            "marginals": [
                {"columns": list(wanted.named(each)), "standard_error": error, "half_width": half}
                for each, error, half in zip(wanted.marginals, errors, halves, strict=True)
            ],
            "minimized": wanted.minimized,
            "objective": self.objective,
            "least": self.least,
            "confidence": level,
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """The marginals, and the error of each."""
        return [("marginal", False), ("cells", True), ("standard error", True), ("half-width", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The marginals as text; half-widths are at `level`."""
        return self.measurements.rows(level, first)

    @property
    def shown_rows(self) -> int:
        """How many marginals there are."""
        return len(self.measurements.wanted.marginals)

    def note(self, level: float = 0.95) -> str:
        """What the half-widths are."""
        return f"half-width of one cell at {100 * level:.10g} %"

    def _cost(self) -> str:
        return in_words(self.loss)


def plan_of(prepared: PreparedMarginals) -> MarginalsPlan:
    """The plan of a question that was checked."""
    measurements, wanted = prepared.measurements, prepared.wanted
    weighted = measurements.errors.cell_variances * wanted.factors
    objective = float(weighted.sum() if wanted.minimized == "sum" else weighted.max())
    return MarginalsPlan(
        table=prepared.table,
        measurements=measurements,
        objective=objective,
        least=measurements.least if prepared.policy.relation == "add_remove" else None,
        loss=prepared.loss,
        unit=prepared.unit,
        rows_per_unit=prepared.rows_per_unit,
    )
