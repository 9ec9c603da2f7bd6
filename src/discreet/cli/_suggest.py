"""`discreet suggest`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    LedgerOption,
    MuOption,
    PolicyOption,
    RhoOption,
    SaveOption,
)
from discreet.cli.ledger._options import AccountOption, IdempotencyOption, KeyFileOption, TokenFileOption
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.query import Suggestion

__all__ = ["EXAMPLES", "suggest"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet suggest visits cost --data visits.parquet --policy visits.toml --ledger visits.ledger --epsilon 0.1\n\n"
    "  discreet suggest visits city --data visits.parquet --policy visits.toml --ledger visits.ledger --epsilon 0.1 "
    "--delta 1e-6\n\n"
    "What it prints are lines for the policy. A changed policy asks new questions: no earlier answer is lost."
)


class Form(StrEnum):
    """How to print a suggestion."""

    toml = "toml"
    json = "json"


def suggest(  # noqa: PLR0913 — an option each
    table: Annotated[str, typer.Argument(metavar="TABLE", show_default=False, help="A table of the policy.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", show_default=False, help="One of its columns.")],
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    keys: Annotated[bool, typer.Option("--keys", help="Look for the keys of an int column, not its bounds.")] = False,
    form: Annotated[Form, typer.Option("--format", help="Lines for the policy, or a JSON object.")] = Form.toml,
    save: SaveOption = None,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Buy bounds, keys and caps for the policy with differential privacy, and charge the ledger.

    Numbers get bounds, texts and dates keys (which cost a delta), and both get caps where a person has several rows.
    """
    with elapsed():
        from discreet.cli._options import source_of, spend_of
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.query import plan_suggestion
        from discreet.release import check_new_file

        spend = spend_of(epsilon, rho, mu, delta)
        if spend is None:
            raise ParameterError("say what it may cost: --epsilon E, or --rho R, and --delta D beside them for keys")
        if save is not None:
            check_new_file(save)
        facts = load_policy(policy)
        plan_suggestion(facts, table, column, spend, keys=keys)  # refusals come before a ledger is made
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            suggestion = session.suggest(table, column, spend, keys=keys, idempotency_key=idempotency_key)
            remaining = session.remaining
        if save is not None:
            suggestion.save(save)
    _print(suggestion, remaining, form)


def _print(suggestion: Suggestion, remaining: Loss, form: Form) -> None:
    from discreet.cli._output import print_json
    from discreet.privacy import in_words, to_json
    from discreet.query import plain_value

    if form is Form.toml:
        typer.echo(suggestion.to_toml())
        typer.echo(f"# cost {in_words(suggestion.loss)}; left {in_words(remaining)}")
        return
    bounds = suggestion.bounds
    content: dict[str, Any] = {
        "table": suggestion.table,
        "column": suggestion.column,
        "bounds": None if bounds is None else [int(b) if b.denominator == 1 else float(b) for b in bounds],
        "keys": None if suggestion.keys is None else [plain_value(key) for key in suggestion.keys],
        "max_rows": suggestion.max_rows,
        "max_groups": suggestion.max_groups,
        "loss": to_json(suggestion.loss),
        "remaining": to_json(remaining),
        "certificate": dict(suggestion.certificate),
    }
    print_json(content)
