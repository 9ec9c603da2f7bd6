"""`discreet graph plan`, `count`, `degrees`, `mixing` and `cuts`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    LedgerOption,
    MuOption,
    PolicyOption,
    RhoOption,
)
from discreet.cli.census._options import PlotOption
from discreet.cli.graph._options import (
    CapOption,
    CountedOption,
    DirectionOption,
    GraphArgument,
    SavedOption,
    StatisticArgument,
    answered,
    needed_spend,
)
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)

__all__ = [
    "COUNT_EXAMPLES",
    "CUTS_EXAMPLES",
    "DEGREES_EXAMPLES",
    "MIXING_EXAMPLES",
    "PLAN_EXAMPLES",
    "count",
    "cuts",
    "degrees",
    "mixing",
    "plan",
]

PLAN_EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet graph plan friends triangles --policy friends.toml --epsilon 0.5\n\n"
    "  discreet graph plan friends triangles --policy friends.toml --epsilon 0.5 --sensitivity 300\n\n"
    "  discreet graph plan friends mixing --attribute dept --policy friends.toml --epsilon 0.5\n\n"
    "  discreet graph plan friends cuts --policy friends.toml --epsilon 2\n\n"
    "It reads no data and costs nothing. --sensitivity is a public guess, and changes no noise."
)
COUNT_EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet graph count friends triangles --data friends.parquet --policy friends.toml --ledger friends.ledger "
    "--epsilon 0.5\n\n"
    "  discreet graph count friends 'global clustering' --data friends.parquet --policy friends.toml "
    "--ledger friends.ledger --epsilon 1 -o clustering.json"
)
DEGREES_EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet graph degrees friends --data friends.parquet --policy friends.toml --ledger friends.ledger "
    "--epsilon 0.5 -o degrees.json --plot degrees.svg\n\n"
    "  discreet graph degrees follows --data follows.parquet --policy follows.toml --ledger follows.ledger "
    "--epsilon 0.5 --direction out"
)

MIXING_EXAMPLES = (
    "[bold]Example[/bold]\n\n"
    "  discreet graph mixing friends dept --data friends=friends.parquet --data people=people.parquet "
    "--policy friends.toml --ledger friends.ledger --epsilon 0.5 --plot mixing.svg\n\n"
    "The attribute is a column of a public table of the policy, which lists its values as keys."
)
CUTS_EXAMPLES = (
    "[bold]Example[/bold]\n\n"
    "  discreet graph cuts friends --data friends.parquet --policy friends.toml --ledger friends.ledger "
    "--epsilon 2 -o cuts.json\n\n"
    'In Python, discreet.release.load("cuts.json").cut(vertices) tells any cut with its standard error, for nothing.'
)


def plan(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    statistic: StatisticArgument,
    *,
    policy: PolicyOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    cap: CapOption = None,
    attribute: Annotated[
        str | None,
        typer.Option(
            "--attribute",
            metavar="ATTRIBUTE",
            show_default=False,
            help="Of mixing: a column of a public table about vertices, as dept.",
        ),
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(
            "--sensitivity",
            metavar="S",
            show_default=False,
            help="A public guess of how far one edge moves the statistic around this graph, to see the error.",
        ),
    ] = None,
    counted: CountedOption = "memory",
    form: ShapeOption = Shape.table,
) -> None:
    """Say what a count, mixing or cuts of a graph would measure and how wrong it would be: for nothing."""
    from discreet import graphs
    from discreet.cli._output import print_json
    from discreet.policy import load_policy

    assumed, spend = (
        None if sensitivity is None else {"sensitivity": sensitivity},
        needed_spend(epsilon, rho, mu, delta),
    )
    planned = graphs.plan(
        load_policy(policy), graph, statistic, spend, assumed, cap=cap, attribute=attribute, counted=counted
    )
    if form is Shape.json:
        print_json(planned.to_dict())
    else:
        typer.echo(planned.explain())


def count(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    statistic: StatisticArgument,
    *,
    policy: PolicyOption,
    data: DataOption,
    ledger: LedgerOption,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    cap: CapOption = None,
    counted: CountedOption = "memory",
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Count something of a graph, with noise that protects each edge, or each person where the policy says so."""
    from discreet.graphs import CountGraph

    question = CountGraph(graph, statistic, needed_spend(epsilon, rho, mu, delta), cap, counted)
    opened = (idempotency_key, account, token_file, key_file)
    answered(question, policy=policy, data=data, ledger=ledger, opened=opened, save=save, form=form)


def degrees(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    *,
    policy: PolicyOption,
    data: DataOption,
    ledger: LedgerOption,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    cap: CapOption = None,
    direction: DirectionOption = None,
    counted: CountedOption = "memory",
    plot: PlotOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Say how many vertices have each degree; where people are protected, which share of them."""
    from discreet.graphs import ReleaseDegrees

    question = ReleaseDegrees(graph, needed_spend(epsilon, rho, mu, delta), cap, direction, counted)
    opened = (idempotency_key, account, token_file, key_file)
    answered(question, policy=policy, data=data, ledger=ledger, opened=opened, save=save, form=form, plot=plot)


def mixing(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    attribute: Annotated[
        str,
        typer.Argument(
            metavar="ATTRIBUTE", show_default=False, help="A column of a public table about vertices, as dept."
        ),
    ],
    *,
    policy: PolicyOption,
    data: DataOption,
    ledger: LedgerOption,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    plot: PlotOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Count the edges between each two values of a public attribute, with noise that protects each single edge."""
    from discreet.graphs import ReleaseMixing

    question = ReleaseMixing(graph, attribute, needed_spend(epsilon, rho, mu, delta))
    opened = (idempotency_key, account, token_file, key_file)
    answered(question, policy=policy, data=data, ledger=ledger, opened=opened, save=save, form=form, plot=plot)


def cuts(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    *,
    policy: PolicyOption,
    data: DataOption,
    ledger: LedgerOption,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    delta: DeltaOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Randomise a graph, so that any cut follows from it for nothing, with noise that protects each single edge."""
    from discreet.graphs import ReleaseCuts

    question = ReleaseCuts(graph, needed_spend(epsilon, rho, None, delta))
    opened = (idempotency_key, account, token_file, key_file)
    answered(question, policy=policy, data=data, ledger=ledger, opened=opened, save=save, form=form)
