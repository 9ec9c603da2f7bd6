"""`discreet train`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    FileOption,
    LedgerOption,
    MuOption,
    PolicyOption,
    RhoOption,
    SqlArgument,
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
    from discreet.learn import Fit, Model
    from discreet.learn.algorithms import Algorithm
    from discreet.policy import Policy
    from discreet.privacy import Loss

__all__ = ["EXAMPLES", "train"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet train naive-bayes "SELECT age, region, cost > 100 AS dear FROM visits" --label dear --data visits.csv '
    "--policy visits.toml --ledger visits.ledger --epsilon 1 -o dear.model\n\n"
    '  discreet train naive-bayes "SELECT age, region, cost > 100 AS dear FROM visits" --label dear --set bins=16 '
    "--data visits.csv --policy visits.toml --ledger visits.ledger --epsilon 1 -o dear.model\n\n"
    "  discreet predict dear.model --data others.csv\n\n"
    '  discreet train naive-bayes "SELECT age, region, cost > 100 AS dear FROM visits" --label dear --plot dear.svg '
    "--data visits.csv --policy visits.toml --ledger visits.ledger --epsilon 1 -o dear.model\n\n"
    "Bounds and classes are those of the policy. The same training at the same price is free the second time."
)


def train(  # noqa: PLR0913 — an option each
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM", show_default=False, help="How to learn, as naive-bayes; a wrong name lists them all."
        ),
    ],
    sql: SqlArgument = None,
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    save: Annotated[
        Path,
        typer.Option(
            "--save",
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="The new file that the model is written to, with its certificate: JSON, for `discreet predict` and "
            "`discreet verify`.",
        ),
    ],
    file: FileOption = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="COLUMN", show_default=False, help="The column of the query that is predicted."
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="A public parameter of the algorithm, once for each; a wrong name lists them all.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Also draw what each input adds, coefficients, or what steps cost: .svg, .png, .html, .json; needs "
            "'discreet\\[plots]'.",
        ),
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Train a model on the rows of a SELECT without aggregates, with differential privacy, and charge the ledger once.

    Of one person as many rows count as the policy's caps allow. The charge is on disk before a row is read. The model
    is asked as often as one likes for nothing.
    """
    with elapsed():
        from discreet.cli._options import source_of, spend_of, sql_of
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.release import check_new_file

        spare_pandas(data)
        spend = spend_of(epsilon, rho, mu, delta)
        if spend is None:
            raise ParameterError("say what to spend: --epsilon (with --delta), --rho or --mu")
        how, query = _algorithm(algorithm, parameters or ()), sql_of(sql, file)
        check_new_file(save)
        if plot is not None:
            from discreet.explain import check_path

            check_path(plot)
        facts = load_policy(policy)
        question = _question(query, label, how, spend, facts)
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            model = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        model.save(save)
        if plot is not None:
            from discreet.explain import save as save_chart

            save_chart(model.plot(), plot)
    _print(model, remaining, save, form)


def _question(query: str, label: str | None, algorithm: Algorithm, spend: Loss, policy: Policy) -> Fit:
    """The question, checked: refusals come before a ledger is made."""
    from discreet.learn import Fit
    from discreet.privacy import currency
    from discreet.query import plan_records
    from discreet.release import Terms

    plan = plan_records(query, policy)
    question = Fit(plan, None if label is None else plan.feature(label), algorithm, spend)
    question.prepare(Terms(policy, currency(spend), lambda bounded: None))  # noqa: ARG005
    return question


def _algorithm(name: str, parameters: Sequence[str]) -> Algorithm:
    """The algorithm of a name, with its parameters. Raises `ParameterError` for other names."""
    from discreet.learn.algorithms import ALGORITHMS

    kind = ALGORITHMS.get(name.replace("-", "_"))
    if kind is None:
        listed = ", ".join(each.replace("_", "-") for each in ALGORITHMS)
        raise ParameterError(f"there is no algorithm {name}; there are {listed}")
    fields = {each.name: each for each in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for text in parameters:
        given, _, value = text.partition("=")
        parameter = given.strip().replace("-", "_")
        if parameter not in fields:
            raise ParameterError(f"--set {given}: {name} has no such parameter; it has {', '.join(fields) or 'none'}")
        if parameter in values:
            raise ParameterError(f"--set {given} is given twice")
        values[parameter] = _value(value.strip(), given)
    return kind(**values)


def _value(text: str, name: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    words = {"true": True, "false": False, "none": None}
    if not text:
        raise ParameterError(f"--set {name} has no value: write --set {name}=VALUE")
    return words.get(text.casefold(), text)


def _print(model: Model, remaining: Loss, path: Path, form: Shape) -> None:
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.privacy import in_words, to_json

    if form is Shape.json:
        print_json(
            {
                "file": str(path),
                "algorithm": model.algorithm.to_json(),
                "inputs": model.inputs.to_json(),
                "loss": to_json(model.loss),
                "remaining": to_json(remaining),
                "certificate": dict(model.certificate),
            }
        )
        return
    print_table(model.rich_table())
    typer.echo(printable(model.note()))
    typer.echo(printable(f"in {path}: `discreet predict {path} --data ROWS` asks it, for nothing"))
    typer.echo(f"cost {in_words(model.loss)}; left {in_words(remaining)}")
