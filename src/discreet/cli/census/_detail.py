"""`discreet census detail`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import (
    DeltaOption,
    EpsilonOption,
    LevelOption,
    MuOption,
    PolicyOption,
    RhoOption,
    check_level,
    spend_of,
)
from discreet.cli.census._options import PlotOption
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.census import PublishDetail

__all__ = ["EXAMPLES", "detail"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census detail origins.toml --policy people.toml --rho 1 --explain\n\n"
    "  discreet census detail origins.toml --data people=people.parquet --data origins=origins.parquet "
    "--policy people.toml --ledger people.ledger --rho 1 -o origins.json\n\n"
    "  discreet verify origins.json --ledger people.ledger\n\n"
    "The same specification at the same price is free the second time: the ledger gives the same numbers again."
)


def detail(  # noqa: PLR0913 — an option each
    spec: Annotated[
        Path,
        typer.Argument(
            metavar="SPEC",
            show_default=False,
            help="A TOML file: the table of groups, the public areas, and how finely a group is shown from when on.",
        ),
    ],
    *,
    policy: PolicyOption,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            metavar="[NAME=]SOURCE",
            show_default=False,
            help="As for `discreet query`. Without it the plan is shown: nothing is spent.",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger", "-l", metavar="LEDGER", show_default=False, help="The file or URL that keeps the budget."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", "--output", "-o", metavar="FILE", show_default=False, help="The new file for the release."
        ),
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say in words what would be published.")] = False,
    plot: PlotOption = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Publish groups that overlap, each as finely as its noisy total allows; without --data show the plan.

    The charge is on disk before anything is counted. Noisy totals alone choose the detail; fresh noise fills it.
    """
    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    question = _question(spec, epsilon, rho, mu, delta)
    if data is None:
        _show_plan(question, policy, plot, level, form, explain=explain)
        return
    if ledger is None or save is None:
        raise ParameterError("say where the budget is kept and where the release goes: --ledger LEDGER and -o FILE")
    if save.exists():
        raise ParameterError(f"{save} is there already; name a new file")
    with elapsed():
        from discreet.census import plan_detail_question
        from discreet.cli._options import source_of
        from discreet.cli._output import print_json, print_table
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.errors import printable
        from discreet.policy import load_policy
        from discreet.privacy import in_words

        spare_pandas(data)
        facts = load_policy(policy)
        plan_detail_question(question, facts)  # refusals come before a ledger is made
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            published = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        published.save(save)
    if plot is not None:
        from discreet.explain import save as draw

        draw(published.plot(), plot)
    if form is Shape.json:
        print_json({"rows": published.totals(confidence=level).to_pylist()})
        return
    print_table(published.rich_table())
    typer.echo(printable(f"{published.note()}; cost {in_words(published.loss)}, {in_words(remaining)} left; in {save}"))


def _question(spec: Path, epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> PublishDetail:
    """What is asked. Raises `ParameterError` without a spend."""
    from discreet.census import DetailSpec, PublishDetail

    spend = spend_of(epsilon, rho, mu, delta)
    if spend is None:
        raise ParameterError("say what the groups may cost: --rho R, or --epsilon E, and --delta D beside it")
    return PublishDetail(DetailSpec.load(spec), spend)


def _show_plan(  # noqa: PLR0913
    question: PublishDetail, policy: Path, plot: Path | None, level: float, form: Shape, *, explain: bool
) -> None:
    from discreet.census import plan_detail_question
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.policy import load_policy

    planned = plan_detail_question(question, load_policy(policy))
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
