"""`discreet synth show`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import LevelOption, check_level, listed_names
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.cli.synth._options import ModelArgument
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.synth import SynthesisReport, SyntheticTable, SyntheticTables

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth show visits.synth\n\n"
    "  discreet synth show visits.synth --steps --plot errors.svg --draw errors\n\n"
    "  discreet synth show visits.synth --plot ages.svg --columns age,cost\n\n"
    "  discreet synth show people.synth --part 'visits: first rows' --plot first.svg\n\n"
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
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="NAME",
            show_default=False,
            help="Of people with all their rows show only this part, as 'visits: first rows'.",
        ),
    ] = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """Show a synthetic table: its columns, the model against what was measured, and the budget. Spends nothing."""
    from discreet.cli._output import print_json, print_table
    from discreet.cli.synth._models import model_in, report_of, rules_in_words
    from discreet.errors import printable
    from discreet.synth import SyntheticTable

    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    model = model_in(file)
    parts = _parts(model, part, needed=plot is not None)
    if plot is not None:
        from discreet.explain import save

        named = listed_names(columns, "--columns")
        if isinstance(model, SyntheticTable):
            save(model.plot(draw.value, named, level), plot)
        else:
            save(model.plot(next(iter(parts)), draw.value, named, level), plot)
    if form is Shape.json:
        print_json({**report_of(model), "certificate": dict(model.certificate)})
        return
    print_table(model.rich_table())
    typer.echo(printable(model.note()))
    for each in rules_in_words(model):
        typer.echo(printable(f"rule: {each}"))
    for name, report in parts.items():
        if name:
            typer.echo(printable(name))
        shown = report.shown()
        print_table(shown.rich_table())
        for note in shown.notes:
            typer.echo(printable(note))
        if steps:
            print_table(report.steps_table().rich_table())


def _parts(model: SyntheticTable | SyntheticTables, part: str | None, *, needed: bool) -> dict[str, SynthesisReport]:
    """The reports of the parts that are shown, by name; that of one table has none."""
    from discreet.synth import SyntheticTable

    if isinstance(model, SyntheticTable):
        if part is not None:
            raise ParameterError("--part is for people with all their rows; this is one table")
        return {"": model.report()}
    reports = model.report()
    if part is None and needed and len(reports) > 1:
        raise ParameterError(f"say which part to draw: --part, one of {', '.join(reports)}")
    if part is None:
        return reports
    if part not in reports:
        raise ParameterError(f"there is no part {part!r}; parts are {', '.join(reports)}")
    return {part: reports[part]}
