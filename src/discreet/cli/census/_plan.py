"""`discreet census plan`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli._options import (
    DeltaOption,
    EpsilonOption,
    LevelOption,
    MuOption,
    PolicyOption,
    RhoOption,
    check_level,
)
from discreet.cli.census._options import PlotOption, SpecArgument, question_of
from discreet.cli.ledger._options import Shape, ShapeOption

__all__ = ["EXAMPLES", "plan"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census plan country.toml --policy people.toml --rho 2.56\n\n"
    "  discreet census plan country.toml --policy people.toml --rho 2.56 --explain --plot errors.svg"
)


def plan(  # noqa: PLR0913 — an option each
    spec: SpecArgument,
    *,
    policy: PolicyOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say in words what would be published.")] = False,
    plot: PlotOption = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """Show what would be measured, and how wrong every number would be. Spends nothing, reads no rows."""
    from discreet.census import plan_question
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.policy import load_policy

    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    planned = plan_question(question_of(spec, epsilon, rho, mu, delta), load_policy(policy))
    if plot is not None:
        from discreet.explain import save

        save(planned.plot(), plot)
    if form is Shape.json:
        print_json(planned.to_dict(level))
    elif explain:
        typer.echo(planned.explain(level))
    else:
        print_table(planned.rich_table(level))
        typer.echo(printable(planned.note(level)))
