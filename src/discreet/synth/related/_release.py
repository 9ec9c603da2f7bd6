"""Synthetic tables that belong together: a public distribution of people with all their rows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.charts import load_altair
from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss
from discreet.release import Content, JsonRelease, json_digest
from discreet.synth._columns import column_named
from discreet.synth._pictures import Picture, picture
from discreet.synth._report import SynthesisReport, make_report
from discreet.synth._table import SyntheticTable
from discreet.synth.related._check import check_parts
from discreet.synth.related._parts import KINDS, Part, Role
from discreet.synth.related._public_policy import public_policies
from discreet.synth.related._sample import sample_tables
from discreet.synth.related._shapes import Shape
from discreet.synth.related._stated import part_statements

__all__ = ["SyntheticTables", "digest_of_parts"]

_MOST_PEOPLE = 100_000_000


@dataclass(frozen=True, repr=False)
class SyntheticTables(JsonRelease):
    """Synthetic stand-ins for tables that belong together. Anyone may have them: what is done with them is free.

    They protect what their `loss` says, no more: a synthetic row may equal a real one by chance.

    Attributes
    ----------
    shapes
        How the tables belong together.
    parts
        What was measured: of which rows, by which columns.
    fits
        The distribution of each part.
    loss, certificate
        As of every release. Made by `discreet.synth.fit_tables`.
    """

    called = "set of synthetic tables"
    fields = frozenset({"shapes", "parts"})

    shapes: tuple[Shape, ...]
    parts: tuple[Part, ...]
    fits: tuple[SyntheticTable, ...]
    loss: Loss
    certificate: Mapping[str, Any]

    @property
    def people(self) -> int:
        """About how many people the private tables have: it was measured with noise."""
        return max(round(self.fits[0].total), 1)

    def sample(self, people: int | None = None, label: str = "") -> dict[str, pa.Table]:
        """The rows of so many synthetic people in each table, with the types of the policy.

        Costs nothing, as often as you like. People have the numbers from 1, and every row that belongs to another has
        its number. The same number and label give the same rows again: what is drawn is a public function of the
        tables.

        Parameters
        ----------
        people
            How many; as many as the private tables have, about, if None is said.
        label
            A public name for this sample.

        Raises `ParameterError` for no number, or one beyond 100 million.
        """
        count = self.people if people is None else people
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_PEOPLE:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"people is a whole number from 0 to {_MOST_PEOPLE:,}, not {people!r}")
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"label is a text, not {label!r}")
        name = json.dumps([self.digest(), label]).encode()
        return sample_tables(self.shapes, self.parts, self.fits, count, name)

    def report(self) -> dict[str, SynthesisReport]:
        """For each part, by its name, the measured marginals in the model against their measurements. Costs nothing.

        Shares are of the whole spend. As `SyntheticTable.report` it says how well the model has what was measured, not
        how near it is to the real rows. Raises `LedgerError` where the certificate cannot be followed.
        """
        stated = part_statements(self.certificate)
        if len(stated) != len(self.parts):
            raise LedgerError("the certificate of these synthetic tables has other parts than they have")
        return {
            part.name: make_report(replace(fit, table=part.name, loss=self.loss, certificate=each), fit.model)
            for part, fit, each in zip(self.parts, self.fits, stated, strict=True)
        }

    def plot(
        self, part: str, what: Picture = "marginals", columns: Sequence[str] | None = None, level: float = 0.95
    ) -> Any:
        """One part of the fit as an altair chart; `part` is its name in `report`, the rest as in `SyntheticTable.plot`.

        Costs nothing. Raises `MissingExtra` without altair, `ParameterError` for a part, picture or level that is none,
        `QueryError` for a column that is not there.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(part, what, columns, level))

    def to_vega_lite(
        self, part: str, what: Picture = "marginals", columns: Sequence[str] | None = None, level: float = 0.95
    ) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        place = next((i for i, each in enumerate(self.parts) if each.name == part), None)
        if place is None:
            raise ParameterError(f"there is no part {part!r}; parts are {', '.join(each.name for each in self.parts)}")
        fitted = self.fits[place].columns
        chosen = None if columns is None else [fitted[column_named(fitted, each, "the part")].name for each in columns]
        return picture(self.report()[part], what, chosen, level)

    def policy(self) -> dict[str, Any]:
        """The policy of public tables for sampled rows, as `connect` takes it. Costs nothing."""
        return tomllib.loads(self.policy_toml(), parse_float=Decimal)

    def policy_toml(self) -> str:
        """The same policy as the text of a TOML file."""
        return public_policies(self.shapes, f"synthetic-{self.digest()[:16]}")

    def content(self) -> dict[str, Any]:
        """How the tables belong together, and the distribution of each part."""
        return {
            "shapes": [shape.to_json() for shape in self.shapes],
            "parts": [{**part.to_json(), "fit": fit.stored} for part, fit in zip(self.parts, self.fits, strict=True)],
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> SyntheticTables:
        """The inverse of `content`."""
        shapes = tuple(Shape.from_json(each) for each in content["shapes"])
        fits = tuple(SyntheticTable.from_stored(each["fit"], loss, {}) for each in content["parts"])
        parts = tuple(_part_of(each, fit) for each, fit in zip(content["parts"], fits, strict=True))
        check_parts(shapes, parts, fits)
        return cls(shapes, parts, fits, loss, certificate)

    @classmethod
    def digests(cls, content: Content) -> tuple[dict[str, str], str | None]:
        """The digests of what a file holds, and of what was measured in it, under their names in the certificate."""
        digests, left_out = super().digests(content)
        measured = [SyntheticTable.digests(Content(part["fit"]))[0]["measured"] for part in content.fields["parts"]]
        return {**digests, "measured": digest_of_parts(measured)}, left_out

    def header(self) -> list[tuple[str, bool]]:
        """A row for each part: its table, its rows, and how many marginals of several columns it was estimated from."""
        return [("table", False), ("rows", False), ("columns", True), ("joint marginals", True), ("number", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - no error bars
        """The parts, as text."""
        return [
            [
                part.table,
                part.which,
                str(len(part.columns)),
                str(sum(len(each.clique) > 1 for each in fit.measured)),
                f"{max(round(fit.total), 0):,}",
            ]
            for part, fit in list(zip(self.parts, self.fits, strict=True))[:first]
        ]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - it has no error bars
        """How many people they stand for."""
        return f"synthetic {', '.join(shape.table for shape in self.shapes)} of about {self.people:,} people"


def _part_of(content: Mapping[str, Any], fit: SyntheticTable) -> Part:
    roles = tuple(Role(kind, str(column)) for kind, column in content["roles"])
    which, given, most = content["which"], int(content["given"]), int(content["most"])
    if len(roles) != len(fit.columns) or not 0 <= given <= len(roles) or which not in ("every", "first", "next"):
        raise ValueError
    if any(kind not in KINDS for kind, _ in roles):
        raise ValueError
    return Part(str(content["table"]), which, roles, fit.columns, given, most)


def digest_of_parts(digests: Sequence[str]) -> str:
    """SHA-256 of the digests of what was measured in each part."""
    return json_digest(list(digests))
