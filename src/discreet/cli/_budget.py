"""`discreet budget`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ledger._options import AccountOption, KeyFileOption, Shape, ShapeOption, TokenFileOption

if TYPE_CHECKING:
    from discreet.ledger import Account

__all__ = ["EXAMPLES", "budget"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet budget --ledger visits.ledger\n\n"
    "  discreet budget --ledger visits.ledger --format json\n\n"
    "  discreet budget --ledger visits.ledger --account ada --token-file ada.token\n\n"
    "[bold]discreet ledger show[/bold] says more: accounts, other currencies, and what it all means."
)


def budget(
    ledger: Annotated[
        str,
        typer.Option(
            "--ledger", "-l", metavar="LEDGER", show_default=False, help="A ledger that exists: a file or a URL."
        ),
    ],
    form: ShapeOption = Shape.table,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Show what a ledger, or an account of it, was made with, what is spent, and what is left."""
    from discreet.cli._output import print_json, print_table
    from discreet.cli.ledger._open import spending
    from discreet.cli.ledger._tables import CURRENCIES
    from discreet.privacy import in_words, to_json

    with spending(ledger, key_file, account, token_file) as book:
        kinds, state, currency = book.kinds(), book.state(), book.currency
        now = book.moments(1)[-1][0]
    losses = {"budget": state.cap, "spent": state.spent, "remaining": state.remaining}
    if state.windows > 1:
        losses["lifetime"] = state.lifetime
    releases = kinds.get("release", 0)
    unanswered = kinds.get("reserve", 0) - releases
    if form is Shape.json:
        parts = {name: to_json(loss) for name, loss in losses.items()}
        print_json({"currency": currency, **parts, "releases": releases, "unanswered": unanswered, **_terms(state)})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False)
    table.add_row("currency", CURRENCIES.get(currency, currency))
    for name, loss in losses.items():
        table.add_row("in all windows" if name == "lifetime" else name, in_words(loss))
    if state.ends is not None:
        table.add_row("window", f"{state.windows}, each {state.every}; the next begins on {state.ends:%Y-%m-%d} (UTC)")
    why = state.stopped(now)
    if why is not None:
        table.add_row("but", f"it {why}")
    elif state.until is not None:
        table.add_row("until", f"{state.until:%Y-%m-%d %H:%M} UTC")
    table.add_row("releases", f"{releases:,}")
    if unanswered:
        table.add_row("unanswered", f"{unanswered:,} (charged, then cut short; their budget stays spent)")
    print_table(table)


def _terms(state: Account) -> dict[str, Any]:
    """What a budget that is one number for good does not have."""
    terms = {
        "account": state.name,
        "every": state.every,
        "windows": state.windows if state.windows > 1 else None,
        "ends": None if state.ends is None else state.ends.isoformat(),
        "until": None if state.until is None else state.until.isoformat(),
        "frozen": state.frozen,
        "part": state.part,
    }
    return {name: value for name, value in terms.items() if value}
