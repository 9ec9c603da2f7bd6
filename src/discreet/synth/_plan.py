"""What a fit would measure, with how much noise: known before any data, and free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, printable
from discreet.marginals import CellChoice, ColumnCells
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.policy import Policy
from discreet.prices import Additive, additive_to_json
from discreet.privacy import Loss, Relation, in_words, to_json
from discreet.query import PlanTable, ShownTable
from discreet.rational import decimal_text
from discreet.release import Terms
from discreet.session import Session
from discreet.synth._candidates import candidates
from discreet.synth._discovery import main_share
from discreet.synth._question import DEGREE, PreparedTable, Synthesize, Tier
from discreet.synth._rounds import Shares, most_rounds, one_way_share
from discreet.synth._workload import Workload
from discreet.synth.rules import Rule, Rules

__all__ = [
    "RELATIONS",
    "Stage",
    "SynthesisPlan",
    "aligned",
    "counted",
    "noise_in_words",
    "plan",
    "plan_question",
]

RELATIONS: Mapping[Relation, str] = {"add_remove": "adding or removing", "substitute": "replacing the rows of"}
"""How neighbours differ, in words that go before the person."""
_NUMBERS = ("cells",)
_KEYS, _ALONE = "keys that nobody listed", "each column alone"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a fit: how many marginals it measures at most, and between which shares of the spend it takes.

    The less a spend buys, by a noisy number of rows, the more the network has of it, and the less the rounds.
    """

    name: str
    most: int
    least_share: Fraction
    most_share: Fraction


@dataclass(frozen=True, slots=True, repr=False)
class SynthesisPlan(ShownTable):
    """What a fit would do. Made by `plan`: it costs nothing and touches no data.

    Attributes
    ----------
    table, tier, loss
        As they were asked for.
    columns
        The columns that would be fitted, with their public cells.
    discovered
        Those of text whose keys the policy does not list: they have no cells yet, and no part in `candidates`.
    target, workload
        What matters more than the rest; of the workload the columns of each marginal, and its weight.
    rules
        What rows keep.
    stages
        What is measured, in order.
    candidates
        Of how many columns the marginals are that may be measured, and how many there are of each, over public cells.
        Merging leaves fewer cells, so that more of them may be looked at.
    noise
        The noise on each count of the first measurements, those of single columns.
    unit, relation, rows_per_unit
        Whom it protects: the column that names a person, or ``"rows"``; how neighbours differ; how many rows of one
        person count.
    """

    table: str
    tier: Tier
    columns: tuple[ColumnCells, ...]
    discovered: tuple[str, ...]
    target: str | None
    workload: tuple[tuple[tuple[str, ...], int], ...]
    rules: Rules
    stages: tuple[Stage, ...]
    candidates: Mapping[int, int]
    noise: Additive
    loss: Loss
    unit: str
    relation: Relation
    rows_per_unit: int

    def half_width(self, level: float = 0.95) -> int:
        """How far off a count of one cell of one column is at most as it is measured first, with probability `level`.

        What is measured later makes the table better than that, and so does what the columns have to do with one
        another. Raises `ParameterError` for a level outside (0, 1).
        """
        if not isinstance(level, int | float) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"level must lie strictly between 0 and 1, for example 0.95; got {level!r}")
        return self.noise.error(level)

    def explain(self, level: float = 0.95) -> str:
        """What the fit would do, in words; the half-width is at `level`."""
        half = self.half_width(level)
        who = "every row is another person" if self.unit == "rows" else f"a person is a value of {self.unit}"
        lines = [
            f"A synthetic {self.table}, tier {self.tier}, of {counted(len(self.columns), 'column')}.",
            "",
            f"Protected: {who}; neighbours differ by {RELATIONS[self.relation]} one person.",
        ]
        if self.unit != "rows":
            lines.append(f"Caps: at most {counted(self.rows_per_unit, 'row')} of one person count.")
        lines += ["", "Columns, in public cells:", *aligned([(each.name, _cells(each)) for each in self.columns])]
        if self.target is not None or self.workload:
            lines.append("")
        if self.target is not None:
            lines.append(f"Target: what {self.target} has to do with each other column is measured first.")
        lines += [f"Workload: {', '.join(each)}, counted {weight} times." for each, weight in self.workload]
        rules = list(self.rules.words())
        lines += ["", "Rules that rows keep:", *(f"  {each}" for each in rules)] if rules else []
        lines += ["", "Measured with noise, one after the other:"]
        lines += aligned([(each.name, _most(each), f"{_shares(each)} of the spend") for each in self.stages])
        if self.candidates:
            each = "; ".join(f"{many:,} of {degree} columns" for degree, many in self.candidates.items())
            beside = ", and what discovered keys add" if self.discovered else ""
            lines.append(f"  Beside single columns there is a choice of {each}, over public cells{beside}.")
        lines += [
            "",
            f"First measurements: {noise_in_words(self.noise)} on each count: ± {half:,} rows at {100 * level:.10g} %.",
            "Cells of few rows are merged by these noisy counts. All other errors depend on the rows.",
            "",
            f"Cost: {in_words(self.loss)}, once; rows are free.",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "table": self.table,
            "tier": self.tier,
            "columns": [
                {"name": each.name, "type": each.type, "nullable": each.nullable, "cells": each.size}
                for each in self.columns
            ],
            "discovered": list(self.discovered),
            "target": self.target,
            "workload": [{"columns": list(each), "weight": weight} for each, weight in self.workload],
            "rules": self.rules.to_json(),
            "stages": [
                {"name": e.name, "most": e.most, "shares": [str(e.least_share), str(e.most_share)]} for e in self.stages
            ],
            "candidates": {str(degree): many for degree, many in self.candidates.items()},
            "noise": additive_to_json(self.noise),
            "half_width": self.half_width(level),
            "level": level,
            "unit": self.unit,
            "relation": self.relation,
            "rows_per_unit": self.rows_per_unit,
            "loss": to_json(self.loss),
        }

    def shown(self, level: float = 0.95) -> PlanTable:
        """A row for each column, as `print` and notebooks show them; the half-width is at `level`."""
        rows = [
            (each.name, each.type, "" if each.keys == () else f"{each.size:,}", _span(each)) for each in self.columns
        ]
        first = f"a count of one cell is measured within ± {self.half_width(level):,} at {100 * level:.10g} %"
        notes = [
            *(f"{each.name}: {_most(each)}, {_shares(each)} of the spend" for each in self.stages),
            f"{first}; cost {in_words(self.loss)}",
        ]
        return PlanTable(("column", "type", "cells", "values"), rows, notes, _NUMBERS)


def plan(  # noqa: PLR0913
    session: Session,
    table: str,
    spend: Loss,
    *,
    tier: Tier = "best",
    columns: Sequence[str] | None = None,
    cells: Mapping[str, CellChoice] | None = None,
    target: str | None = None,
    workload: Workload = (),
    rules: Sequence[Rule] = (),
) -> SynthesisPlan:
    """What `fit` would measure with the same arguments, and with how much noise. Costs nothing and touches no data.

    Raises `QueryError` and `ParameterError` exactly where `fit` would before its charge.

    >>> import discreet as dp
    >>> from discreet import synth
    >>> from discreet.datasets import rand
    >>> with dp.connect({"visits": rand.table}, rand.policy) as session:
    ...     plan = synth.plan(session, "visits", dp.pure(1), columns=["female", "doctor_visits"], tier="instant")
    >>> plan.half_width(), [(stage.name, stage.most) for stage in plan.stages]
    (150, [('each column alone', 2), ('a network of pairs', 1)])
    """
    question = Synthesize(table, spend, tier, columns, dict(cells or {}), target, workload, rules)
    prepared = session.prepare(question)
    assert isinstance(prepared, PreparedTable)
    return _of_prepared(prepared)


def plan_question(question: Synthesize, policy: Policy) -> SynthesisPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan` does."""
    return _of_prepared(question.prepare(Terms.of_policy(policy)))


def _of_prepared(prepared: PreparedTable) -> SynthesisPlan:
    names = [column.name for column in prepared.columns]
    listed = candidates([column.size for column in prepared.columns], prepared.wanted, DEGREE[prepared.tier])
    known = {i for i, column in enumerate(prepared.columns) if column.keys != ()}
    degrees = Counter(len(each) for each in listed.weights if known.issuperset(each))
    target = prepared.wanted.target
    return SynthesisPlan(
        table=prepared.table,
        tier=prepared.tier,
        columns=prepared.columns,
        discovered=tuple(each.column for each in prepared.planned),
        target=None if target is None else names[target],
        workload=tuple((tuple(names[column] for column in each), weight) for each, weight in prepared.wanted.workload),
        rules=prepared.rules,
        stages=tuple(_all_stages(prepared)),
        candidates={degree: degrees[degree] for degree in sorted(degrees)},
        noise=prepared.first_noise(),
        loss=prepared.loss,
        unit=prepared.unit,
        relation=prepared.policy.relation,
        rows_per_unit=prepared.rows_per_unit,
    )


def _all_stages(prepared: PreparedTable) -> list[Stage]:
    """The discovery of keys, if any is needed, and then the stages of the fit, which share the rest."""
    stages = _stages(len(prepared.columns), prepared.tier, has_target=prepared.wanted.target is not None)
    if not prepared.planned:
        return stages
    rest = main_share(prepared.fit_loss, prepared.loss)
    keys = Stage(_KEYS, len(prepared.planned), 1 - rest, 1 - rest)
    return [keys, *(Stage(each.name, each.most, each.least_share * rest, each.most_share * rest) for each in stages)]


def _stages(columns: int, tier: Tier, *, has_target: bool) -> list[Stage]:
    if columns == 1:
        return [Stage(_ALONE, 1, Fraction(1), Fraction(1))]
    alone, shares = one_way_share(tier), Shares()
    pairs = 2 * columns - 3 if has_target else columns - 1
    name = "pairs with the target, and a network" if has_target else "a network of pairs"
    first = Stage(_ALONE, columns, alone, alone)
    if tier == "instant":
        return [first, Stage(name, pairs, 1 - alone, 1 - alone)]
    least = shares.least_until_network(has_target=has_target)
    most = least + shares.most_network - shares.least_network
    rounds = most_rounds(columns, 1 - least)
    return [
        first,
        Stage(name, pairs, least - alone, most - alone),
        Stage("rounds that choose", rounds, 1 - most, 1 - least),
    ]


def _most(stage: Stage) -> str:
    if stage.name == _KEYS:
        return f"of {counted(stage.most, 'column')}"
    upper = "" if stage.name == _ALONE else "at most "
    return f"{upper}{counted(stage.most, 'marginal')}"


def _cells(column: ColumnCells) -> str:
    if column.keys == ():
        return f"{column.type}: {_span(column)}"
    noun = "cell" if column.is_ordered else "value"
    return f"{column.type}, {counted(column.valued, noun)}{', and null' if column.nullable else ''}: {_span(column)}"


def _span(column: ColumnCells) -> str:
    """The first and the last value of a column, or its few values."""
    if column.keys == ():
        return "values that enough people have, to be discovered"
    if column.is_ordered:
        return f"{column.text(0).split(' to ')[0]} to {column.text(column.valued - 1).split(' to ')[-1]}"
    few = [column.text(cell) for cell in range(min(column.valued, _FEW))]
    return ", ".join(few) + (", …" if column.valued > _FEW else "")


_FEW = 5


def noise_in_words(mechanism: Additive) -> str:
    """The noise with its scale, in words."""
    if isinstance(mechanism, DiscreteLaplace):
        return f"discrete Laplace noise of scale {decimal_text(mechanism.scale)}"
    law = "discrete Gaussian noise" if isinstance(mechanism, DiscreteGaussian) else "rounded Gaussian noise"
    return f"{law} of sigma {decimal_text(mechanism.sigma)}"


def counted(number: int, noun: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _shares(stage: Stage) -> str:
    least, most = (f"{float(100 * share):.3g} %" for share in (stage.least_share, stage.most_share))
    return least if least == most else f"{least} to {most}"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns, two spaces from the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return [
        "  " + "  ".join([*(f"{cell:<{width}}" for cell, width in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in rows
    ]
