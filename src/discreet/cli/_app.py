"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import _account, _budget, _plan, _query, _serve, _suggest, _verify
from discreet.cli._errors import careful
from discreet.cli.anonymize import _anonymize, _risk
from discreet.cli.attack import _app as _attack
from discreet.cli.audit import _audit
from discreet.cli.census import _app as _census
from discreet.cli.collect import _app as _collect
from discreet.cli.demo import _demo
from discreet.cli.graph import _app as _graph
from discreet.cli.learn import _evaluate, _predict, _train
from discreet.cli.ledger import _app as _ledger
from discreet.cli.policy import _app as _policy
from discreet.cli.shell import _shell
from discreet.cli.synth import _app as _synth

__all__ = ["app"]

_EXAMPLES = (
    "[bold]Start here[/bold]\n\n"
    "  discreet demo\n\n"
    "  discreet policy init visits.parquet --output visits.toml\n\n"
    '  discreet query "SELECT COUNT(*) AS n FROM visits" --data visits.parquet --policy visits.toml '
    "--ledger visits.ledger --epsilon 0.5\n\n"
    "[bold]Exit codes[/bold]\n\n"
    "  0 answered; 2 bad usage or unsupported query; 3 over budget, nothing spent; 4 bad policy, data or ledger; "
    "1 a claim refuted by audit or verify, an answer that could not be printed, or a bug"
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 — typer calls it so
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"discreet {version('discreet')}")
    except PackageNotFoundError:
        typer.echo("discreet, not installed as a package")
    raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Answer questions about people without betraying any one of them.

    SQL under differential privacy: noise, error bars, and a ledger that refuses when the budget is gone.
    """


app = typer.Typer(
    name="discreet",
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(epilog=_EXAMPLES)(_root)
app.command(epilog=_query.EXAMPLES)(careful(_query.query))
app.command(epilog=_plan.EXAMPLES)(careful(_plan.plan))
app.command(epilog=_shell.EXAMPLES)(careful(_shell.shell))
app.command(epilog=_suggest.EXAMPLES)(careful(_suggest.suggest))
app.command(epilog=_serve.EXAMPLES)(careful(_serve.serve))
app.command(epilog=_budget.EXAMPLES)(careful(_budget.budget))
app.command(epilog=_verify.EXAMPLES)(careful(_verify.verify))
app.command(epilog=_account.EXAMPLES)(careful(_account.account))
app.command(epilog=_audit.EXAMPLES)(careful(_audit.audit))
app.command(epilog=_train.EXAMPLES)(careful(_train.train))
app.command(epilog=_predict.EXAMPLES)(careful(_predict.predict))
app.command(epilog=_evaluate.EXAMPLES)(careful(_evaluate.evaluate))
app.command(epilog=_anonymize.EXAMPLES)(careful(_anonymize.anonymize))
app.command(epilog=_risk.EXAMPLES)(careful(_risk.risk))

app.add_typer(_policy.policies, name="policy")
app.add_typer(_ledger.ledgers, name="ledger")
app.add_typer(_collect.collecting, name="collect")
app.add_typer(_synth.synthesizing, name="synth")
app.add_typer(_census.publishing, name="census")
app.add_typer(_graph.graphing, name="graph")
app.add_typer(_attack.attacking, name="attack")

app.command(epilog=_demo.EXAMPLES)(careful(_demo.demo))
