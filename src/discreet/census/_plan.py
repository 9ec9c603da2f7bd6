"""What a publication would measure and how wrong it would be: known before any data, and free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.census._pictures import Picture, checked_picture, level_errors, shares
from discreet.census._question import PreparedPublication
from discreet.census.estimates import Errors, Measure, half_widths
from discreet.charts import load_altair
from discreet.errors import ParameterError, printable
from discreet.mechanisms import DiscreteLaplace
from discreet.prices import Additive, additive_to_json
from discreet.privacy import Loss, in_words, to_json
from discreet.rational import decimal_text
from discreet.release import ShownTable

__all__ = ["CensusPlan", "plan_of"]


@dataclass(frozen=True, repr=False, eq=False)
class CensusPlan(ShownTable):
    """What a publication would be. Made by `plan`: it costs nothing and touches no data.

    Attributes
    ----------
    errors
        The variance of everything that would be published.
    mechanisms
        The noise of each measurement, by level and table.
    shares
        The part of the spend that each has.
    loss
        What it would cost.
    unit, rows_per_unit
        Whom it protects: the column that names a person, or ``"rows"``; how many rows of one person count.
    universes
        The plans of other rows that would be published with these, by name; the loss is of all together.
    """

    errors: Errors
    mechanisms: Mapping[Measure, Additive]
    shares: Mapping[Measure, float]
    loss: Loss
    unit: str
    rows_per_unit: int
    universes: Mapping[str, CensusPlan] = field(default_factory=dict[str, "CensusPlan"])

    def error(self, name: str, level: str | None = None, area: object = None, confidence: float = 0.95) -> float:
        """How far a cell of a table will be from the truth at most, with a probability of about `confidence`.

        `level` is one of the tree, the last by default; of the areas of it the worst is meant where none is named.
        Raises `QueryError` for a table that would not be published there, `ParameterError` for no such level or area.
        """
        return self.errors.half_width(name, level, area, confidence)

    def total_error(self, name: str, areas: Sequence[Any], where: str | None = None, confidence: float = 0.95) -> float:
        """How far the total of some areas and cells will be off at most, with a probability of about `confidence`."""
        layout = self.errors.layout
        columns = layout.columns_of(name)
        weights = layout.weights(where, columns)
        over = layout.spec.geography.weights(areas, "the total")
        variance = self.errors.variance_of_sum(over, columns, weights)
        return float(half_widths(np.array([variance]), confidence, heavy=self.errors.heavy)[0])

    def plot(self, what: Picture = "errors") -> Any:
        """A picture as an altair chart: ``"errors"`` by level, or ``"shares"`` of the spend. Costs nothing.

        Raises `ParameterError` for another, `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(what))

    def to_vega_lite(self, what: Picture = "errors") -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        match checked_picture(what):
            case "errors":
                return level_errors(self.errors.half_widths(0.95), 0.95, in_words(self.loss))
            case "shares":
                return shares([(*each, share) for each, share in self.shares.items()], in_words(self.loss))
            case _:
                raise ParameterError("a plan has pictures of errors and shares alone; publish first for the others")

    def explain(self, confidence: float = 0.95) -> str:
        """What would be published and how wrong it would be, in words."""
        lines = self.words(confidence)
        for name, each in self.universes.items():
            lines += ["", f"With them, {name}:", *each.words(confidence)]
        rules = self.errors.layout.spec.rules
        if rules:
            lines += ["", "Published numbers keep, in every area:", *(f"  {rule}" for rule in rules)]
        lines += ["", f"Cost: {in_words(self.loss)}, once; totals, districts and microdata are free."]
        return "\n".join(map(printable, lines))

    def words(self, confidence: float) -> list[str]:
        """What would be published of these rows alone, line by line."""
        spec = self.errors.layout.spec
        people = "every row is another person" if self.unit == "rows" else f"a person is a value of {self.unit}"
        areas, levels = sum(spec.geography.tree.sizes), len(spec.geography.levels)
        lines = [
            f"Tables of {spec.name} for {areas:,} areas at {levels} levels.",
            "",
            f"Protected: {people}; at most {self.rows_per_unit:,} rows of one count.",
            "",
            f"Half-widths of one cell at {100 * confidence:.10g} %, in the worst area:",
        ]
        return [*lines, *(f"  {row[0]}, {row[1]}: ± {row[5]}" for row in self._rows(confidence))]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        levels = self.errors.layout.spec.geography.levels
        return {
            "levels": list(levels),
            "areas": list(self.errors.layout.tree.sizes),
            "measured": [
                {"level": at, "table": name, "share": self.shares[at, name], **additive_to_json(mechanism)}
                for (at, name), mechanism in self.mechanisms.items()
            ],
            "errors": [
                {"level": at, "table": name, "half_width": half} for at, name, half in self.errors.half_widths(level)
            ],
            "confidence": level,
            "loss": to_json(self.loss),
            **(
                {"universes": {name: each.to_dict(level) for name, each in self.universes.items()}}
                if self.universes
                else {}
            ),
        }

    def header(self) -> list[tuple[str, bool]]:
        """What is measured where, and the errors."""
        names = ("cells", "share", "noise", "half-width")
        return [("level", False), ("table", False), *((name, name != "noise") for name in names)]

    def _rows(self, confidence: float) -> list[list[str]]:
        layout, rows = self.errors.layout, list[list[str]]()
        for level, name, half in self.errors.half_widths(confidence):
            mechanism = self.mechanisms.get((level, name))
            areas = layout.tree.sizes[layout.spec.geography.level(level)]
            rows.append([
                level,
                name,
                f"{areas * layout.components.cells(layout.tables[name]):,}",
                f"{self.shares.get((level, name), 0):.1%}",
                "none" if mechanism is None else _noise(mechanism),
                f"{half:,.1f}",
            ])  # fmt: skip
        return rows

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The rows as text."""
        rows = self._rows(level)
        for name, each in self.universes.items():
            rows += [[place, f"{name}: {table}", *rest] for place, table, *rest in each.cells(level)]
        return rows[:first]

    def note(self, level: float = 0.95) -> str:
        """What the half-widths are."""
        return f"half-width of one cell in the worst area at {100 * level:.10g} %"

    def _cost(self) -> str:
        return in_words(self.loss)


def plan_of(prepared: PreparedPublication) -> CensusPlan:
    """The plan of a question that was checked."""
    return CensusPlan(
        errors=prepared.errors,
        mechanisms=prepared.mechanisms,
        shares={each: float(share) for each, share in prepared.shares.items()},
        loss=prepared.loss,
        unit=prepared.bounded.unit or "rows",
        rows_per_unit=prepared.bounded.max_rows,
        universes={name: plan_of(each) for name, each in prepared.universes.items()},
    )


def _noise(mechanism: Additive) -> str:
    if isinstance(mechanism, DiscreteLaplace):
        return f"Laplace, scale {decimal_text(mechanism.scale)}"
    return f"Gaussian, sigma {float(mechanism.sigma):.4g}"
