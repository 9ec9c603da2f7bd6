"""What a fit of several tables would measure: known before any data, and free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, printable
from discreet.marginals import CellChoice
from discreet.policy import Policy
from discreet.prices import Additive, additive_to_json
from discreet.privacy import Loss, Relation, in_words, to_json
from discreet.query import PlanTable, ShownTable
from discreet.release import Terms
from discreet.session import Session
from discreet.synth._plan import RELATIONS, aligned, counted, noise_in_words
from discreet.synth._question import Tier
from discreet.synth.related._parts import shares_of
from discreet.synth.related._question import PreparedTables, SynthesizeTables
from discreet.synth.related._shapes import History
from discreet.synth.rules import Rule

__all__ = ["PlannedPart", "TablesPlan", "plan_tables", "plan_tables_question"]


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One part of a fit of several tables: one distribution, of the `columns` that are drawn where others are `given`.

    Attributes
    ----------
    name
        Which rows of which table: the first of each person or parent, those that follow, or every row.
    columns, given
        The names of the columns.
    rows_per_unit
        How many such rows of one person count.
    share
        Which share of the spend is for this part.
    noise
        The noise on each count of the first measurements: at most, since what an earlier part says of a column that is
        given needs none.
    """

    name: str
    columns: tuple[str, ...]
    given: tuple[str, ...]
    rows_per_unit: int
    share: Fraction
    noise: Additive


@dataclass(frozen=True, slots=True, repr=False)
class TablesPlan(ShownTable):
    """What a fit of several tables would do. Made by `plan_tables`: it costs nothing and touches no data.

    Attributes
    ----------
    tables
        The private tables, each after the one that its rows belong to.
    public
        Public tables whose keys are drawn, as they are.
    parts
        What is measured, in order.
    tier, loss
        As they were asked for.
    unit, relation
        Whom it protects: the column that names a person; how neighbours differ.
    rules
        What rows keep, in words.
    """

    tables: tuple[str, ...]
    public: tuple[str, ...]
    parts: tuple[PlannedPart, ...]
    tier: Tier
    loss: Loss
    unit: str
    relation: Relation
    rules: tuple[str, ...] = ()

    def half_widths(self, level: float = 0.95) -> dict[str, int]:
        """For each part how far off a count of one cell of one column is at most as it is measured first.

        So it is with probability `level`, in rows. Raises `ParameterError` for a level outside (0, 1).
        """
        if not isinstance(level, int | float) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"level must lie strictly between 0 and 1, for example 0.95; got {level!r}")
        return {part.name: part.noise.error(level) for part in self.parts}

    def explain(self, level: float = 0.95) -> str:
        """What the fit would do, in words; half-widths are at `level`."""
        halves = self.half_widths(level)
        apart = f"neighbours differ by {RELATIONS[self.relation]} one person"
        lines = [
            f"Synthetic {', '.join(self.tables)}, tier {self.tier}: people with all their rows.",
            "",
            f"Protected: a person is a value of {self.unit}; {apart}.",
        ]
        if self.public:
            lines.append(f"Public, as they are: {', '.join(self.public)}.")
        lines += ["", "Rules that rows keep:", *(f"  {each}" for each in self.rules)] if self.rules else []
        lines += ["", "Measured with noise, one after the other, and drawn in this order:"]
        for part in self.parts:
            rows = counted(part.rows_per_unit, "row")
            lines += ["", f"  {part.name}, of which {rows} of one person count"]
            rest = [
                ("drawn", ", ".join(part.columns)),
                *([("given", ", ".join(part.given))] if part.given else []),
                ("share", f"{_percent(part.share)} of the spend"),
                ("noise", f"{noise_in_words(part.noise)} on each count at first, ± {halves[part.name]:,} rows at most"),
            ]
            lines += [f"  {line}" for line in aligned(rest)]
        lines += ["", f"Half-widths are at {100 * level:.10g} %. All other errors depend on the rows."]
        lines += ["", f"Cost: {in_words(self.loss)}, once; rows are free."]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        halves = self.half_widths(level)
        return {
            "tables": list(self.tables),
            "public": list(self.public),
            "tier": self.tier,
            "parts": [
                {
                    "name": part.name,
                    "columns": list(part.columns),
                    "given": list(part.given),
                    "rows_per_unit": part.rows_per_unit,
                    "share": str(part.share),
                    "noise": additive_to_json(part.noise),
                    "half_width": halves[part.name],
                }
                for part in self.parts
            ],
            "rules": list(self.rules),
            "level": level,
            "unit": self.unit,
            "relation": self.relation,
            "loss": to_json(self.loss),
        }

    def shown(self, level: float = 0.95) -> PlanTable:
        """A row for each part, as `print` and notebooks show them; half-widths are at `level`."""
        halves = self.half_widths(level)
        rows = [
            (
                part.name,
                ", ".join(part.columns),
                str(len(part.given)),
                f"{part.rows_per_unit:,}",
                _percent(part.share),
                f"± {halves[part.name]:,}",
            )
            for part in self.parts
        ]
        notes = [
            f"± is how far off a count of one cell is at first, at {100 * level:.10g} %, or less",
            *([f"public, as they are: {', '.join(self.public)}"] if self.public else []),
            f"tier {self.tier}; cost {in_words(self.loss)}",
        ]
        return PlanTable(("part", "drawn", "given", "of a person", "share", "first counts"), rows, notes, _NUMBERS)


_NUMBERS = ("given", "of a person", "share", "first counts")


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.3g} %"


def plan_tables(  # noqa: PLR0913
    session: Session,
    tables: Sequence[str],
    spend: Loss,
    *,
    tier: Tier = "best",
    histories: Mapping[str, History] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    cells: Mapping[str, Mapping[str, CellChoice]] | None = None,
    links: Mapping[str, str] | None = None,
    rules: Mapping[str, Sequence[Rule]] | None = None,
) -> TablesPlan:
    """What `fit_tables` would measure with the same arguments, and with how much noise.

    Costs nothing and touches no data. Raises `QueryError` and `ParameterError` exactly where `fit_tables` would before
    its charge.

    >>> import discreet as dp
    >>> from discreet import synth
    >>> from discreet.datasets import rand
    >>> history = synth.History(order="year", constant=["female"], repeats=False)
    >>> with dp.connect({"visits": rand.table}, rand.policy) as session:
    ...     plan = synth.plan_tables(session, ["visits"], dp.pure(1), histories={"visits": history},
    ...                              columns={"visits": ["doctor_visits"]})
    >>> plan.parts[1].columns, plan.parts[1].given
    (('step of year', 'doctor_visits'), ('female', 'previous year', 'previous doctor_visits'))
    >>> plan.half_widths()
    {'visits: first rows': 96, 'visits: next rows': 240}
    """
    question = SynthesizeTables(
        tables,
        spend,
        tier,
        dict(histories or {}),
        dict(columns or {}),
        dict(cells or {}),
        dict(links or {}),
        dict(rules or {}),
    )
    prepared = session.prepare(question)
    assert isinstance(prepared, PreparedTables)
    return _of_prepared(prepared)


def plan_tables_question(question: SynthesizeTables, policy: Policy) -> TablesPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan_tables`."""
    return _of_prepared(question.prepare(Terms.of_policy(policy)))


def _of_prepared(prepared: PreparedTables) -> TablesPlan:
    parts = [
        PlannedPart(
            name=part.name,
            columns=tuple(each.name for each in part.columns[part.given :]),
            given=tuple(each.name for each in part.columns[: part.given]),
            rows_per_unit=part.most,
            share=share,
            noise=each.first_noise(),
        )
        for part, each, share in zip(prepared.parts, prepared.prepared, shares_of(prepared.parts), strict=True)
    ]
    return TablesPlan(
        tables=tuple(shape.table for shape in prepared.shapes),
        public=tuple(dict.fromkeys(link.table for link in prepared.public_tables)),
        parts=tuple(parts),
        tier=prepared.tier,
        loss=prepared.loss,
        unit=prepared.prepared[0].unit,
        relation=prepared.policy.relation,
        rules=tuple(f"{shape.table}: {each}" for shape in prepared.shapes for each in shape.rules.words()),
    )
