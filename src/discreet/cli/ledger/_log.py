"""`discreet ledger log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ledger._options import (
    AccountOption,
    KeyFileOption,
    LedgerArgument,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.errors import printable

if TYPE_CHECKING:
    from discreet.ledger import LoggedCharge

__all__ = ["EXAMPLES", "log"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger log visits.ledger\n\n"
    "  discreet ledger log visits.ledger --last 100 --format json --key-file visits.key\n\n"
    "  discreet ledger log visits.ledger --account ada --token-file ada.token"
)


def log(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    *,
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, max=100_000, help="The newest N charges.")] = 20,
    form: ShapeOption = Shape.table,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Show who asked what, when and for how much, newest first. An account sees its own questions, an auditor all."""
    from discreet.cli._output import print_json, print_table
    from discreet.cli.ledger._open import reading

    with reading(ledger, key_file, account, token_file) as book:
        charges = book.log(last)
    if form is Shape.json:
        print_json({"charges": [_json(each) for each in charges]})
    else:
        print_table(_table(charges))


def _json(logged: LoggedCharge) -> dict[str, Any]:
    from discreet.ledger import entry_json

    beside = {name: getattr(logged, name) for name in ("answered", "damaged", "question", "policy", "version")}
    return entry_json(logged.charge, mine=logged.charge.seq is None) | beside


def _why_not(logged: LoggedCharge) -> str:
    """Why a charge is shown without its question."""
    if not logged.answered:
        return "no answer was stored"
    if logged.damaged:
        return "damaged or missing: see discreet ledger check"
    return "sealed: give the key" if logged.sealed else "not a release of discreet"


def _table(charges: list[LoggedCharge]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet.privacy import in_words

    table = Table("when (UTC)", "account", "cost", "data", "question", box=box.SIMPLE_HEAD)
    for each in charges:
        charge = each.charge
        question = each.question or _why_not(each)
        cost = "" if charge.loss is None else in_words(charge.loss)
        cells = (f"{charge.at:%Y-%m-%d %H:%M}", charge.account or "(whole)", cost, each.version or "", question)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
