"""`discreet ledger show`."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.ledger._options import (
    AccountOption,
    KeyFileOption,
    LedgerArgument,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Account, AccountLedger, Entry, LedgerAudit, OwnedLedger

__all__ = ["EXAMPLES", "draw", "show"]


EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger show visits.ledger\n\n"
    "  discreet ledger show visits.ledger --last 20 --plot left.svg\n\n"
    "  DISCREET_TOKEN=... discreet ledger show visits.ledger --account ada --format json"
)

_LAST = 10


def show(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    *,
    delta: Annotated[
        str,
        typer.Option(
            metavar="D",
            help="The δ, above 0 and below 1, at which totals in ρ and μ are stated as an ε, and for beliefs.",
        ),
    ] = "1e-6",
    last: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=100_000,
            show_default=False,
            help=f"Also the newest N entries. Default: none, or {_LAST} of an account.",
        ),
    ] = None,
    form: ShapeOption = Shape.table,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Also draw what was left of each budget: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Show what a ledger allows, what is spent and left, and what that means. Spends nothing.

    An account sees itself alone; the owner and auditors see everything but releases.
    """
    from discreet.cli.ledger._open import named, reading
    from discreet.rational import rational

    at = rational(delta, "--delta")
    if not 0 < at < 1:
        raise ParameterError(f"--delta must be above 0 and below 1, for example 1e-6; got {delta}")
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    with reading(ledger, key_file, account, token_file) as book:
        _show(named(ledger), book, at, last, form)
        if plot is not None:
            draw(book, plot)


def _show(
    name: str, book: OwnedLedger | LedgerAudit | AccountLedger, delta: Fraction, last: int | None, form: Shape
) -> None:
    from discreet.cli.ledger._meaning import meanings
    from discreet.ledger import LedgerAudit, OwnedLedger

    now = book.moments(1)[-1][0]
    audited = isinstance(book, OwnedLedger | LedgerAudit)
    budgets = [book.total, *book.accounts.values()] if audited else [book.state()]
    history = dict(book.history) if audited else {}
    head = book.head if audited else None
    count = (0 if audited else _LAST) if last is None else last
    newest = book.latest(count) if count else []
    meant = meanings(budgets[0], now, delta)
    if form is Shape.json:
        from discreet.cli._output import print_json
        from discreet.cli.ledger._json import as_json

        print_json(as_json(name, book.facts, budgets, history, delta, head, newest, meant, now))
        return
    _print(name, book, budgets, newest, now, None if head is None else head.seq + 1)
    if audited:
        from discreet.cli._output import print_table
        from discreet.cli.ledger._tables import history_table

        typer.echo("What one person may have lost since the ledger was made, the same charges added up in four ways;")
        typer.echo("each is true, so the smallest counts:")
        print_table(history_table(history, delta))
    else:
        typer.echo("All accounts together may have less left than this one: then a spend that fits here is refused.")
    for each in meant:
        typer.echo(each.sentence)


def _print(  # noqa: PLR0913, PLR0917
    name: str,
    book: OwnedLedger | LedgerAudit | AccountLedger,
    budgets: list[Account],
    newest: list[Entry],
    now: dt.datetime,
    entries: int | None,
) -> None:
    from discreet.cli._output import print_table
    from discreet.cli.ledger._tables import budgets_table, entries_table, facts_table, standing

    print_table(facts_table(name, book.facts, entries))
    print_table(budgets_table(budgets, {each.name: standing(each, each.stopped(now)) for each in budgets}))
    if newest:
        print_table(entries_table(newest, mine=entries is None))


_MOMENTS, _PER_ACCOUNT, _ACCOUNTS = 300, 100, 20


def draw(book: OwnedLedger | LedgerAudit | AccountLedger, plot: Path) -> None:
    """Draw the whole and the accounts that have spent most; or, for an analyst, their own.

    Of a ledger that was converted, what followed is drawn.
    """
    from discreet.explain import burndown_chart, burndown_points, save
    from discreet.ledger import LedgerAudit, OwnedLedger
    from discreet.privacy import currency, parts

    if not isinstance(book, OwnedLedger | LedgerAudit):
        series = {book.account: book.moments(_MOMENTS)}
    else:
        spenders = [each for each in book.accounts.values() if each.role == "analyst"]
        spenders.sort(key=lambda each: (-parts(each.lifetime)[0], each.name))
        series = {"(whole)": book.moments(_MOMENTS)}
        series |= {each.name: book.moments(_PER_ACCOUNT, each.name) for each in spenders[:_ACCOUNTS]}
    unit = book.facts.currency
    shown = {name: [(at, each) for at, each in states if currency(each.cap) == unit] for name, states in series.items()}
    save(burndown_chart(burndown_points(shown), unit), plot)
