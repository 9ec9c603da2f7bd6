"""`discreet synth plan`."""

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
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.cli.synth._options import (
    CellsOption,
    ColumnsOption,
    RuleOption,
    RulesOption,
    TablesArgument,
    TargetOption,
    TierOption,
    Tiers,
    WorkloadOption,
)
from discreet.cli.synth._tables import (
    AlongOption,
    ConstantOption,
    LinkOption,
    OrderOption,
    PeopleOption,
    Related,
    UniqueOption,
    fit_question,
    plan_of,
)

__all__ = ["EXAMPLES", "plan"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth plan visits --policy visits.toml --rho 0.01\n\n"
    '  discreet synth plan visits --policy visits.toml --epsilon 1 --target cost --cells "age=16" --explain'
)


def plan(  # noqa: PLR0913 — an option each
    tables: TablesArgument,
    *,
    policy: PolicyOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    tier: TierOption = Tiers.best,
    columns: ColumnsOption = None,
    cells: CellsOption = None,
    target: TargetOption = None,
    workload: WorkloadOption = None,
    rule: RuleOption = None,
    rules: RulesOption = None,
    people: PeopleOption = False,
    order: OrderOption = None,
    unique_order: UniqueOption = None,
    constant: ConstantOption = None,
    along: AlongOption = None,
    link: LinkOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say in words what the fit would do.")] = False,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """Show what a fit would measure, and with how much noise. Spends nothing, reads no rows, makes no ledger."""
    from discreet.cli._options import spend_of
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.policy import load_policy

    check_level(level)
    related = Related(people, order, unique_order, constant, along, link)
    question = fit_question(
        tables, related, spend_of(epsilon, rho, mu, delta), tier, columns, cells, target, workload, rule, rules
    )
    planned = plan_of(question, load_policy(policy))
    if form is Shape.json:
        print_json(planned.to_dict(level))
    elif explain:
        typer.echo(planned.explain(level))
    else:
        shown = planned.shown(level)
        print_table(shown.rich_table())
        for note in shown.notes:
            typer.echo(printable(note))
