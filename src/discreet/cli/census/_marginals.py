"""`discreet census marginals`: a plan without data, a publication with them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from discreet.cli._options import (
    DeltaOption,
    EpsilonOption,
    MuOption,
    PolicyOption,
    RhoOption,
    listed_names,
    spend_of,
)
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
from discreet.cli.synth._options import CellsOption, ColumnsOption
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "marginals"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census marginals people --policy people.toml --rho 0.1 --ways 3\n\n"
    "  discreet census marginals people --data people.parquet --policy people.toml --ledger people.ledger --rho 0.1 "
    "--marginal age,sex --marginal sex,ill --cells age=16 -o marginals.json\n\n"
    "  discreet census show marginals.json --table age,sex\n\n"
    "The first is a plan: without --data nothing is read, and nothing is spent."
)


class Minimized(StrEnum):
    """What is minimised."""

    sum = "sum"
    largest = "largest"


def marginals(  # noqa: PLR0913 — an option each
    table: Annotated[str, typer.Argument(metavar="TABLE", show_default=False, help="A private table of the policy.")],
    *,
    policy: PolicyOption,
    data: SourceOption = None,
    ledger: LedgerOption = None,
    save: SavedOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    ways: Annotated[
        int | None,
        typer.Option(
            "--ways", metavar="K", show_default=False, help="All marginals of up to so many columns. Default: 2."
        ),
    ] = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(
            "--marginal",
            metavar="A,B,C",
            show_default=False,
            help="The columns of a marginal, in place of --ways. Once for each.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    cells: CellsOption = None,
    minimize: Annotated[
        Minimized, typer.Option("--minimize", help="The sum of the variances of all cells, or the largest of one.")
    ] = Minimized.sum,
    explain: Annotated[bool, typer.Option("--explain", help="Say a plan in words.")] = False,
    plot: PlotOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Publish many marginals of a table together: unbiased with the least error there is, and values from 0.

    Without --data it is a plan, which shows how wrong each would be. With --data, --ledger and -o it is charged once,
    and written to a file; all narrower tables and sums of cells are free.
    """
    from discreet.census import PublishMarginals, plan_marginals_question
    from discreet.cli.synth._options import cell_choices
    from discreet.policy import load_policy

    spend = spend_of(epsilon, rho, mu, delta)
    if spend is None:
        raise ParameterError(NO_SPEND)
    if ways is not None and marginal:
        raise ParameterError("--ways asks for all marginals of so many columns, --marginal for some: give one of them")
    asked = [listed_names(each, "--marginal") or [] for each in marginal or []]
    facts = load_policy(policy)
    question = PublishMarginals(
        table, spend, asked or ways or 2, listed_names(columns, "--columns"), cell_choices(cells or ()), minimize.value
    )
    planned = plan_marginals_question(question, facts)
    opened = (idempotency_key, account, token_file, key_file)
    published(question, planned, facts, Wanted(data, ledger, save, opened), explain=explain, plot=plot, form=form)
