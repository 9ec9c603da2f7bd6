"""Options that `discreet synth plan` and `fit` share, and what they mean."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import listed_names
from discreet.cli.synth._rules import rules_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.marginals import CellChoice, ColumnCells
    from discreet.privacy import Loss
    from discreet.synth import Synthesize, Workload

__all__ = [
    "NO_SPEND",
    "CellsOption",
    "ColumnsOption",
    "ModelArgument",
    "RuleOption",
    "RulesOption",
    "TablesArgument",
    "TargetOption",
    "TierOption",
    "Tiers",
    "WorkloadOption",
    "cell_choices",
    "given_values",
    "question_of",
]

_CHOICES = "What to fit"
NO_SPEND = "say what the fit may cost: --epsilon E, or --rho R, and --delta D beside them"


class Tiers(StrEnum):
    """How much work a fit is."""

    instant = "instant"
    best = "best"


TablesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        show_default=False,
        help="A private table of the policy; or several that belong together, with public ones that they link to.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="FILE", show_default=False, help="A synthetic table, as `discreet synth fit` writes.")
]
TierOption = Annotated[
    Tiers,
    typer.Option(
        "--tier",
        rich_help_panel=_CHOICES,
        help="A network of pairs, measured at once; or that, and then rounds that choose what to measure.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,C",
        show_default=False,
        rich_help_panel=_CHOICES,
        help="Only these columns. Default: all but those that say whose a row is.",
    ),
]
CellsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cells",
        metavar="NAME=N",
        show_default=False,
        rich_help_panel=_CHOICES,
        help="Into how many equal cells the bounds of a number or date are cut, or where: age=16, or age=18|40|65. "
        "Once for each column. They are public: choose them without looking at the rows.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=_CHOICES,
        help="A column that models will predict: what it has to do with the others is measured first.",
    ),
]
WorkloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        metavar="A,B",
        show_default=False,
        rich_help_panel=_CHOICES,
        help="Columns whose joint marginal matters more than others, or a query in SQL. Put 3x before it to count it "
        "three times as much. As often as you like.",
    ),
]
RuleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="SQL",
        show_default=False,
        rich_help_panel=_CHOICES,
        help='A public condition that every row keeps, as "cost = 0 OR visits > 0"; of several tables "TABLE: SQL". As '
        "often as you like.",
    ),
]
RulesOption = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        show_default=False,
        rich_help_panel=_CHOICES,
        help="A TOML file of rules: hard = \\[...], and sections soft (condition, weight), follows (column, given, and "
        "values or a CSV file) and totals (rows, where).",
    ),
]


def question_of(  # noqa: PLR0913, PLR0917 — an option each
    table: str,
    spend: Loss | None,
    tier: Tiers,
    columns: str | None,
    cells: Sequence[str] | None,
    target: str | None,
    workload: Sequence[str] | None,
    rule: Sequence[str] | None,
    rules: Path | None,
) -> Synthesize:
    """The fit of one table that the options ask for. Raises `ParameterError` for options that cannot be read."""
    from discreet.synth import Synthesize

    if spend is None:
        raise ParameterError(NO_SPEND)
    return Synthesize(
        table=table,
        spend=spend,
        tier=tier.value,
        columns=listed_names(columns, "--columns"),
        cells=cell_choices(cells or ()),
        target=target,
        workload=_workload(workload or ()),
        rules=rules_of(rule or (), rules),
    )


def _workload(options: Sequence[str]) -> Workload:
    """What matters more than the rest: lists of columns and queries, and how many times as much each counts.

    >>> _workload(["age, cost", "3x age"])
    {('age', 'cost'): 1, ('age',): 3}
    """
    from discreet.synth import is_query

    weighted: dict[str | tuple[str, ...], int] = {}
    for option in options:
        match = _WEIGHTED.fullmatch(option.strip())
        times, text = (1, option) if match is None else (int(match[1]), match[2])
        asked = text if is_query(text) else tuple(listed_names(text, "--workload") or ())
        if asked in weighted:
            raise ParameterError(f"--workload names {text} twice; put 2x before it to count it twice as much")
        weighted[asked] = times
    return weighted


_WEIGHTED = re.compile(r"(\d{1,9})x\s+(.+)", re.DOTALL | re.ASCII)


def cell_choices(options: Sequence[str]) -> dict[str, CellChoice]:
    """Counts of cells, or their ends, by column.

    >>> cell_choices(["age=16", "cost=10|20.5"])
    {'age': 16, 'cost': ['10', '20.5']}
    """
    choices: dict[str, CellChoice] = {}
    for option in options:
        name, sign, choice = (part.strip() for part in option.rpartition("="))
        ends = [end.strip() for end in choice.split("|")]
        if not sign or not name or "" in ends:
            raise ParameterError(
                f"--cells takes a column and how many cells, as in age=16, or their ends, age=18|65; got {option!r}"
            )
        if name in choices:
            raise ParameterError(f"--cells names the column {name} twice")
        choices[name] = int(choice) if choice.isdecimal() and choice.isascii() and len(choice) < 9 else ends
    return choices


def given_values(options: Sequence[str], columns: Sequence[ColumnCells], name: str = "--given") -> dict[str, Any]:
    """The values of `--given` and the like, each as its column has it. Raises `ParameterError` for what is none."""
    given: dict[str, Any] = {}
    by_name = {column.name.casefold(): column for column in columns}
    for option in options:
        stated, sign, text = option.partition("=")
        column = by_name.get(stated.strip().casefold())
        if not sign or column is None:
            listed = ", ".join(each.name for each in columns)
            raise ParameterError(f"{name} takes a column and its value, as in NAME=VALUE; columns are {listed}")
        if column.name in given:
            raise ParameterError(f"{name} names the column {column.name} twice")
        given[column.name] = _value(column, text, name)
    return given


_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def _value(column: ColumnCells, text: str, option: str) -> object:
    """A value of a column, from its text; `null` is none, unless the column has such a text."""
    if text.casefold() == "null" and not (column.keys is not None and text in column.keys):
        return None
    try:
        match column.type:
            case "bool":
                return _TRUTH[text.strip().casefold()]
            case "int":
                return int(text)
            case "date":
                return dt.date.fromisoformat(text.strip())
            case "timestamp":
                return dt.datetime.fromisoformat(text.strip())
            case "float":
                return float(text)
            case "decimal":
                return Decimal(text.strip())
            case "string":
                return text
    except (KeyError, ValueError, ArithmeticError):
        raise ParameterError(f"{option}: {column.name} is of type {column.type}, and cannot be {text!r}") from None
