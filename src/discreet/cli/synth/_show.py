"""`discreet synth show`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._options import LevelOption, check_level, listed_names
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.cli.synth._options import ModelArgument

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth show visits.synth\n\n"
    "  discreet synth show visits.synth --steps --plot errors.svg --draw errors\n\n"
    "  discreet synth show visits.synth --plot ages.svg --columns age,cost\n\n"
    "The report says how well the model has what was measured, not how near it is to the real rows."
)


class Pictures(StrEnum):
    """What to draw."""

    marginals = "marginals"
    errors = "errors"
    budget = "budget"


def show(  # noqa: PLR0913 — an option each
    file: ModelArgument,
    *,
    steps: Annotated[bool, typer.Option("--steps", help="Also list each step: what it chose or measured.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Also draw the fit: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
    draw: Annotated[
        Pictures, typer.Option("--draw", help="Columns, measured and in the model; errors; or budget by round.")
    ] = Pictures.marginals,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,C", show_default=False, help="Of the marginals, draw only these."),
    ] = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """Show a synthetic table: its columns, the model against what was measured, and the budget. Spends nothing."""
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.synth import load

    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    model = load(file)
    report = model.report()
    if plot is not None:
        from discreet.explain import save

        save(model.plot(draw.value, listed_names(columns, "--columns"), level), plot)
    if form is Shape.json:
        print_json({**report.to_dict(), "certificate": dict(model.certificate)})
        return
    print_table(model.rich_table())
    typer.echo(printable(model.note()))
    for each in model.rules.words():
        typer.echo(printable(f"rule: {each}"))
    shown = report.shown()
    print_table(shown.rich_table())
    for note in shown.notes:
        typer.echo(printable(note))
    if steps:
        print_table(report.steps_table().rich_table())
