"""The risks of a table, as numbers, in words and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from discreet.anonymize.risks._columns import ColumnRisk, UniqueSet
from discreet.anonymize.risks._disclosure import Disclosure
from discreet.anonymize.risks._population import Population
from discreet.anonymize.tables import Codes
from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Part", "Reidentification", "Risk"]

Part = Literal["people", "columns", "sets", "sensitive"]
_PARTS: tuple[Part, ...] = ("people", "columns", "sets", "sensitive")
_FIRST = 20


_MODELS = {
    "pitman": "Pitman's model",
    "gamma": "a model of gamma rates",
    "lognormal": "a model of log-normal rates",
}


@dataclass(frozen=True)
class Reidentification:
    """Probabilities that a person of the table is recognised, under three views of who looks.

    Attributes
    ----------
    prosecutor
        The greatest, for somebody who knows that a certain person is in the table: 1 / people who look alike in it.
    journalist
        The greatest, for somebody who looks for anybody among the population: 1 / people who look alike there. Without
        a population it is not known, and at most the prosecutor's; nor is it where the population is estimated: then
        it is the greatest that is expected of anybody, who may as well be unique.
    marketer
        The share of all people who are recognised by guessing each: among the population, or within the table.

    Source: El Emam and Dankar 2008; El Emam 2013, Guide to the de-identification of personal health information.
    """

    prosecutor: float
    journalist: float | None
    marketer: float


@dataclass(frozen=True, repr=False, eq=False)
class Risk:
    """What can be done to the people of a table, as numbers.

    Attributes
    ----------
    quasi
        The columns by which a person may be recognised.
    rows, classes
        How many there are; people of a class look alike.
    unique
        How many people are unlike all others in the table.
    reidentification
        The prosecutor's, the journalist's and the marketer's risk.
    population
        Uniqueness among all people; None if no population was given.
    columns
        What each quasi-identifier adds.
    sets
        The smallest sets of columns that make somebody unique.
    sets_up_to
        Up to how many columns all sets were looked at.
    disclosures
        For each sensitive column what is learnt of it.
    class_sizes
        For each row how many people look like it in the table, itself included.
    """

    quasi: tuple[str, ...]
    rows: int
    classes: int
    unique: int
    reidentification: Reidentification
    population: Population | None
    columns: tuple[ColumnRisk, ...]
    sets: tuple[UniqueSet, ...]
    sets_up_to: int
    disclosures: Mapping[str, Disclosure]
    class_sizes: Codes

    def __repr__(self) -> str:
        return f"<Risk: {self.unique:,} of {self.rows:,} people are unique by {len(self.quasi)} columns>"

    def explain(self) -> str:
        """It in words."""
        return "\n".join([*self._of_people(), *self._of_columns(), *self._of_values()])

    def _of_people(self) -> list[str]:
        risks, population = self.reidentification, self.population
        lines = [
            (
                f"{self.unique:,} of {self.rows:,} people ({self.unique / self.rows:.1%}) are unique in the table by "
                f"{', '.join(self.quasi)}"
            ),
            f"prosecutor, who knows that a person is in the table: {risks.prosecutor:.1%} for the worst person",
        ]
        if population is None or risks.journalist is None:
            lines += [
                (
                    "journalist, who looks for anybody in the population: not known without a population, at most the "
                    "prosecutor's"
                ),
                f"marketer, who guesses everybody: {risks.marketer:.1%} are right if nobody else could be meant",
            ]
            return lines
        how = "" if population.is_exact else "about "
        limit = "" if population.is_exact else f" by what is expected, and at most {risks.prosecutor:.1%}"
        lines += [
            (
                f"journalist, who looks for anybody in the population: {how}{risks.journalist:.1%} for the worst person"
                f"{limit}"
            ),
            f"marketer, who guesses everybody: {how}{risks.marketer:.1%} are right",
            f"{how}{population.unique:.1%} are unique among the {population.size:,} people of the population",
        ]
        if not population.is_exact:
            lines += [
                (
                    f"that is an estimate by {_MODELS[population.method]}: models say from "
                    f"{population.low:.1%} to {population.high:.1%}, and certain is only that it is at most "
                    f"{population.ceiling:.1%}"
                ),
                "it holds for people who were drawn at random; a table of the population would count",
            ]
        return lines

    def _of_columns(self) -> list[str]:
        if not self.unique:
            return []
        lines = [
            f"{each.column}: {each.alone:.1%} are unique by it alone, {each.without:.1%} without it, so that it adds "
            f"{each.added:.1%}"
            for each in sorted(self.columns, key=lambda each: -each.added)
        ]
        lines += [
            f"{each.people:,} unique by {' and '.join(each.columns)}"
            + (", and nobody by fewer of these columns" if len(each.columns) > 1 else "")
            for each in self.sets[:_FIRST]
        ]
        if len(self.sets) > _FIRST:
            lines.append(f"so do {len(self.sets) - _FIRST:,} other sets of columns")
        if self.sets_up_to < len(self.quasi):
            lines.append(f"sets of more than {self.sets_up_to} columns were not looked at")
        return lines

    def _of_values(self) -> list[str]:
        lines: list[str] = []
        for name, each in self.disclosures.items():
            value, row = each.skewed
            few = ", ".join(f"{people:,} to {values}" for values, people in list(each.narrowed.items())[:4])
            lines += [
                (f"{name}: {each.learnt:,} people's value is learnt with certainty; narrowed to so many values: {few}"),
                (
                    f"{name}: guessing the most frequent value of a class is right for {each.guessed:.1%}, without the "
                    f"classes for {each.baseline:.1%}"
                ),
                f"{name}: {value} is {each.skewness:.2g} times as frequent in the class of row {row:,} as in the table",
            ]
            if each.contradicted:
                lines.append(f"{name}: facts are false for {each.contradicted:,} people, and were not applied to them")
        return lines

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON, without the people."""
        risks = self.reidentification
        return {
            "quasi": list(self.quasi),
            "rows": self.rows,
            "classes": self.classes,
            "unique": self.unique,
            "prosecutor": risks.prosecutor,
            "journalist": risks.journalist,
            "marketer": risks.marketer,
            "population": None if self.population is None else self.population.to_json(),
            "columns": self.to_arrow("columns").to_pylist(),
            "sets": [{"columns": list(each.columns), "people": each.people} for each in self.sets],
            "sets_up_to": self.sets_up_to,
            "sensitive": {name: each.to_json() for name, each in self.disclosures.items()},
        }

    def to_arrow(self, part: Part = "people") -> pa.Table:
        """A table: ``"people"``, a row for each row; ``"columns"``; ``"sets"``; or ``"sensitive"`` columns.

        Raises `ParameterError` for another part.
        """
        match part:
            case "people":
                return self._people()
            case "columns":
                fields = ("column", "alone", "without", "added")
                return pa.table({name: [getattr(each, name) for each in self.columns] for name in fields})
            case "sets":
                names = pa.array([list(each.columns) for each in self.sets], pa.list_(pa.string()))
                return pa.table({"columns": names, "people": pa.array([e.people for e in self.sets], pa.int64())})
            case "sensitive":
                return self._sensitive()
        raise ParameterError(f"the parts of a risk are {', '.join(_PARTS)}; not {part!r}")

    def _people(self) -> pa.Table:
        columns: dict[str, Any] = {
            "row": np.arange(self.rows),
            "class_size": self.class_sizes,
            "prosecutor": 1 / self.class_sizes,
        }
        if self.population is not None:
            columns["journalist"] = self.population.matches
        for name, each in self.disclosures.items():
            columns[f"{name}: values left"] = each.values
            columns[f"{name}: posterior"] = each.posterior
            columns[f"{name}: prior"] = each.prior
        return pa.table(columns)

    def _sensitive(self) -> pa.Table:
        each = list(self.disclosures.values())
        return pa.table({
            "column": pa.array([one.column for one in each], pa.string()),
            "learnt": pa.array([one.learnt for one in each], pa.int64()),
            "guessed": pa.array([one.guessed for one in each], pa.float64()),
            "baseline": pa.array([one.baseline for one in each], pa.float64()),
            "skewness": pa.array([one.skewness for one in each], pa.float64()),
        })  # fmt: skip

    def rich_table(self, part: Part = "columns") -> Table:
        """One of the tables for a terminal; of people those who are most easily recognised, 20 of them."""
        from rich import box
        from rich.table import Table

        rows = self.to_arrow(part)
        if part == "people":
            rows = rows.take(np.argsort(self.class_sizes, kind="stable")[:_FIRST])
        shown = Table(box=box.SIMPLE_HEAD)
        for name in rows.column_names:
            shown.add_column(printable(name), justify="left" if name in {"column", "columns"} else "right")
        for row in rows.to_pylist():
            shown.add_row(*(_text(value) for value in row.values()))
        return shown


def _text(value: object) -> str:
    match value:
        case float():
            return f"{value:.4g}"
        case list():
            return printable(", ".join(map(str, value)))  # pyright: ignore[reportUnknownArgumentType]
        case int():
            return f"{value:,}"
        case _:
            return printable(str(value))
