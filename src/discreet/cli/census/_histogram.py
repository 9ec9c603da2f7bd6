"""`discreet census histogram`: a plan without data, a publication with them."""

from __future__ import annotations

import csv
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import DeltaOption, EpsilonOption, MuOption, PolicyOption, RhoOption, spend_of
from discreet.cli.census._options import PlotOption
from discreet.cli.census._single import NO_SPEND, LedgerOption, SavedOption, SourceOption, Wanted, published
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.census import CountCells
    from discreet.policy import Policy

__all__ = ["EXAMPLES", "histogram"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census histogram income --policy people.toml --epsilon 0.1 --cells 4096\n\n"
    "  discreet census histogram income --data people.parquet --policy people.toml --ledger people.ledger "
    "--epsilon 0.1 --cells 4096 -o income.json\n\n"
    "  discreet census range income.json 20000 35000\n\n"
    "  discreet census show income.json --plot income.svg\n\n"
    "The first is a plan: without --data nothing is read, and nothing is spent."
)


class Workloads(StrEnum):
    """What will be asked."""

    ranges = "ranges"
    prefixes = "prefixes"


def histogram(  # noqa: PLR0913 — an option each
    column: Annotated[
        str, typer.Argument(metavar="COLUMN", show_default=False, help="A column with bounds or keys in the policy.")
    ],
    *,
    policy: PolicyOption,
    data: SourceOption = None,
    ledger: LedgerOption = None,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", show_default=False, help="The table, if the policy has several."),
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option(
            "--cells",
            metavar="N|A|B",
            show_default=False,
            help="Into how many equal cells the bounds of a number or date are cut, as 4096, or where: 18|40|65.",
        ),
    ] = None,
    workload: Annotated[
        Workloads,
        typer.Option("--workload", help="Measure it for all ranges, or for those from the first cell on."),
    ] = Workloads.ranges,
    ranges: Annotated[
        Path | None,
        typer.Option(
            "--ranges",
            metavar="FILE",
            show_default=False,
            help="Measure it for these ranges alone: a CSV file without a header, of a first and a last value each.",
        ),
    ] = None,
    data_aware: Annotated[
        bool,
        typer.Option(
            "--data-aware",
            help="Spend a part of an ε on finding where the column is empty: integers are far nearer if it mostly is.",
        ),
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say a plan in words.")] = False,
    plot: PlotOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Count a column for ranges: fitted to what will be asked, with an interval beside every number.

    Without --data it is a plan, which shows how wrong ranges would be, beside the least that is possible. With --data,
    --ledger and -o it is charged once, and written to a file; all ranges of it are free.
    """
    from discreet.census import CountCells, plan_histogram_question
    from discreet.cli.synth._options import cell_choices
    from discreet.policy import load_policy

    spend = spend_of(epsilon, rho, mu, delta)
    if spend is None:
        raise ParameterError(NO_SPEND)
    facts = load_policy(policy)
    chosen = None if cells is None else next(iter(cell_choices([f"{column}={cells}"]).values()))
    question = CountCells(column, spend, chosen, workload.value, data_aware, table)
    if ranges is not None:
        question = _of_ranges(question, facts, ranges)
    planned = plan_histogram_question(question, facts)
    opened = (idempotency_key, account, token_file, key_file)
    published(question, planned, facts, Wanted(data, ledger, save, opened), explain=explain, plot=plot, form=form)


def _of_ranges(asked: CountCells, facts: Policy, path: Path) -> CountCells:
    """The same for the ranges of a file, whose values are read as those of the column are."""
    from dataclasses import replace

    from discreet.cli.synth._options import given_values
    from discreet.release import Terms

    cells = asked.prepare(Terms.of_policy(facts)).column
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [(reader.line_num, row) for reader in [csv.reader(file)] for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise ParameterError(f"--ranges {path} cannot be read as CSV: name a file of two values a line") from None
    ends: list[tuple[object, object]] = []
    for line, row in rows:
        if len(row) != 2:
            raise ParameterError(f"--ranges {path}, line {line}: give a first and a last value")
        first, last = (given_values([f"{cells.name}={text}"], [cells], "--ranges")[cells.name] for text in row)
        ends.append((first, last))
    return replace(asked, workload=tuple(ends))
