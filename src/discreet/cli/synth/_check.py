"""`discreet synth check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    LedgerOption,
    LevelOption,
    MuOption,
    PolicyOption,
    RhoOption,
    SaveOption,
    check_level,
)
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.cli.synth._options import ModelArgument, given_values
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.synth import SyntheticCheck, SyntheticTable

__all__ = ["EXAMPLES", "check"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth check visits.synth --data visits.parquet --policy visits.toml --ledger visits.ledger "
    "--epsilon 0.5\n\n"
    "  discreet synth check visits.synth --data visits.parquet --policy visits.toml --ledger visits.ledger "
    '--epsilon 0.5 --target "region=north" --accept tv2=0.05 --accept auc=0.7\n\n'
    "[bold]Exit codes[/bold]\n\n"
    "  0 all limits are met, or none was asked for; 1 one is not; 2 bad usage; 3 over budget; 4 bad files"
)


def check(  # noqa: PLR0913 — an option each
    file: ModelArgument,
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN[=VALUE]",
            show_default=False,
            help="Also judge a classifier that learnt to recognise this value from synthetic rows alone. A column of "
            "two values needs no value.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="NAME=LIMIT",
            show_default=False,
            help="What is good enough: at most a distance (tv1, tv2, tv3), at least an accuracy or auc. Once for each.",
        ),
    ] = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
    save: SaveOption = None,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Buy how far a synthetic table is from the private rows, with intervals, and charge the ledger."""
    with elapsed():
        from discreet.cli._options import source_of, spend_of
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access, exists
        from discreet.cli.synth._models import model_in
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.release import Terms, check_new_file
        from discreet.synth import CheckTable, SyntheticTable

        spare_pandas(data)
        check_level(level)
        spend = spend_of(epsilon, rho, mu, delta)
        if spend is None:
            raise ParameterError("say what the check may cost: --epsilon E, or --rho R, and --delta D beside them")
        if save is not None:
            check_new_file(save)
        model = model_in(file)
        if not isinstance(model, SyntheticTable):
            raise ParameterError(
                "a check is of a table that is fitted alone, and this file holds people with all their rows; ask "
                "queries of the private tables instead, or fit the table alone"
            )
        question = CheckTable(model, spend, _target(model, target), _limits(accept or ()))
        facts = load_policy(policy)
        if not exists(ledger):  # refusals come before one is made
            question.prepare(Terms.of_policy(facts))
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            checked = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        if save is not None:
            checked.save(save)
    _print(checked, remaining, level, form)
    if not checked.accepted:
        raise typer.Exit(1)


def _target(model: SyntheticTable, option: str | None) -> Any:
    """A column, or a column with its value. Raises `ParameterError` for what is none."""
    if option is None or "=" not in option:
        return option
    return given_values([option], model.columns, "--target")


def _limits(options: Sequence[str]) -> dict[str, float]:
    """The limits by name. Raises `ParameterError` for what is none.

    >>> _limits(["tv2=0.05", "auc=.8"])
    {'tv2': 0.05, 'auc': 0.8}
    """
    limits: dict[str, float] = {}
    for option in options:
        name, _, text = (part.strip() for part in option.partition("="))
        try:
            limit = float(text)
        except ValueError:
            raise ParameterError(f"--accept takes a name and its limit, as in tv2=0.05; got {option!r}") from None
        if name in limits:
            raise ParameterError(f"--accept has a limit of {name} twice")
        limits[name] = limit
    return limits


def _print(checked: SyntheticCheck, remaining: Loss, level: float, form: Shape) -> None:
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.privacy import in_words, to_json

    if form is Shape.json:
        content = checked.to_dict(level)
        certificate = content.pop("certificate")
        print_json({**content, "remaining": to_json(remaining), "certificate": certificate})
        return
    print_table(checked.rich_table(level))
    for line in (checked.note(level), *checked.footnotes(level)):
        typer.echo(printable(line))
    if checked.limits:
        typer.echo("all limits are met" if checked.accepted else "not all limits are met")
    typer.echo(f"cost {in_words(checked.loss)}; left {in_words(remaining)}")
