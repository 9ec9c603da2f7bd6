"""`discreet evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    FileOption,
    LedgerOption,
    LevelOption,
    MuOption,
    PolicyOption,
    RhoOption,
    SaveOption,
    SqlArgument,
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
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.learn import Evaluation
    from discreet.privacy import Loss

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet evaluate dear.model "SELECT age, region, cost > 100 AS dear FROM visits" --label dear '
    "--data visits.csv --policy visits.toml --ledger visits.ledger --epsilon 0.1\n\n"
    "The query has the columns that the model was trained on. The same evaluation at the same price is free."
)


def evaluate(  # noqa: PLR0913 — an option each
    model: Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A file by `discreet train`.")],
    sql: SqlArgument = None,
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    file: FileOption = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", show_default=False, help="The column that the model predicts."),
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    level: LevelOption = 0.95,
    save: SaveOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Also draw rows by predicted and actual class, or errors: .svg, .png, .html, .json; needs "
            "'discreet\\[plots]'.",
        ),
    ] = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Buy how well a model predicts private rows: accuracy of classes, errors of numbers, with error bars."""
    with elapsed():
        from discreet import learn
        from discreet.cli._options import source_of, spend_of, sql_of
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.privacy import currency
        from discreet.query import plan_records
        from discreet.release import Terms, check_new_file

        spare_pandas(data)
        check_level(level)
        spend = spend_of(epsilon, rho, mu, delta)
        if spend is None:
            raise ParameterError("say what to spend: --epsilon (with --delta), --rho or --mu")
        query, loaded = sql_of(sql, file), learn.load(model)
        if save is not None:
            check_new_file(save)
        if plot is not None:
            from discreet.explain import check_path

            check_path(plot)
        facts = load_policy(policy)
        plan = plan_records(query, facts)
        question = learn.Evaluate(loaded, plan, None if label is None else plan.feature(label), spend)
        question.prepare(Terms(facts, currency(spend), lambda bounded: None))  # noqa: ARG005
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            answer = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        if save is not None:
            answer.save(save)
        if plot is not None:
            from discreet.explain import save as save_chart

            save_chart(answer.plot(level), plot)
    _print(answer, remaining, level, form)


def _print(answer: Evaluation, remaining: Loss, level: float, form: Shape) -> None:
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.privacy import in_words, to_json

    if form is Shape.json:
        content = answer.to_dict(level)
        certificate = content.pop("certificate")
        print_json({**content, "remaining": to_json(remaining), "certificate": certificate})
        return
    print_table(answer.rich_table(level))
    typer.echo(printable(answer.note(level)))
    typer.echo(f"cost {in_words(answer.loss)}; left {in_words(remaining)}")
