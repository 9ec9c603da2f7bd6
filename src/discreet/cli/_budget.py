"""`discreet budget`."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import LedgerError

__all__ = ["EXAMPLES", "budget"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet budget --ledger visits.ledger\n\n"
    "  discreet budget --ledger visits.ledger --format json"
)

_CURRENCIES = {"pure": "pure epsilon", "approx": "epsilon and delta", "rho": "rho and delta (zCDP)"}


class _Format(StrEnum):
    table = "table"
    json = "json"


def budget(
    ledger: Annotated[
        Path, typer.Option("--ledger", "-l", metavar="FILE", show_default=False, help="A ledger that exists.")
    ],
    form: Annotated[_Format, typer.Option("--format", "-f", help="How to print it; see docs/cli.md.")] = _Format.table,
) -> None:
    """Show what a ledger was made with, what is spent, and what is left."""
    from discreet.cli._output import print_json, print_table
    from discreet.ledger import open_ledger
    from discreet.privacy import in_words, to_json

    if not ledger.exists():
        raise LedgerError(f"there is no ledger at {ledger}; the first `discreet query` with --ledger {ledger} makes it")
    with open_ledger(ledger, None) as book:
        kinds = Counter(entry.kind for entry in book.entries())
        losses = {"budget": book.budget, "spent": book.spent, "remaining": book.remaining}
        currency = book.currency
    releases, unanswered = kinds["release"], kinds["reserve"] - kinds["release"]
    if form is _Format.json:
        parts = {name: to_json(loss) for name, loss in losses.items()}
        print_json({"currency": currency, **parts, "releases": releases, "unanswered": unanswered})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False)
    table.add_row("currency", _CURRENCIES.get(currency, currency))
    for name, loss in losses.items():
        table.add_row(name, in_words(loss))
    table.add_row("releases", f"{releases:,}")
    if unanswered:
        table.add_row("unanswered", f"{unanswered:,} (charged, then cut short; their budget stays spent)")
    print_table(table)
