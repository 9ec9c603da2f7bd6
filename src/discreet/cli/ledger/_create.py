"""`discreet ledger create`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.ledger._options import (
    CapDeltaOption,
    CapEpsilonOption,
    CapMuOption,
    CapRhoOption,
    EveryOption,
    LedgerArgument,
    UntilOption,
    counted,
    moment,
    relation_of,
)
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.ledger import OwnedLedger

__all__ = ["EXAMPLES", "create"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger create visits.ledger --epsilon 3\n\n"
    "  discreet ledger create visits.ledger --epsilon 1 --delta 1e-6 --every quarter --until 2030-01-01\n\n"
    "  discreet ledger create visits.ledger --rho 0.5 --people patients --key-file visits.key\n\n"
    "  discreet ledger create visits.ledger --epsilon 1 --relation add_remove --part north --part south\n\n"
    "What is said here is fixed for the ledger's life, but for the size of the budget (`discreet ledger renew`), and "
    "that a delta can be added to an epsilon (`discreet ledger convert`)."
)


def create(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    *,
    epsilon: CapEpsilonOption = None,
    rho: CapRhoOption = None,
    mu: CapMuOption = None,
    delta: CapDeltaOption = None,
    every: EveryOption = None,
    until: UntilOption = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="The public name of the people whose losses it counts; policies that name others are refused.",
        ),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            metavar="add_remove|substitute",
            show_default=False,
            help="The neighbours that losses are for, as in the policies. Default: add_remove, as in a policy.",
        ),
    ] = None,
    counts: Annotated[
        str,
        typer.Option(
            metavar="people|edges|arcs|events",
            help="Whose losses it counts: people's, or those of single edges of a graph, of single arcs of a directed "
            "one, or of single events. A release about something else is refused.",
        ),
    ] = "people",
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="NAME",
            show_default=False,
            help="A part of the people. Nobody is in two parts, and nobody ever changes theirs. Repeatable.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            envvar="DISCREET_LEDGER_KEY_FILE",
            show_default=False,
            help="Encrypt releases with this key; one is made there if there is no such file. Keep a copy elsewhere.",
        ),
    ] = None,
) -> None:
    """Make a ledger with a budget. An existing one is left as it is."""
    from discreet.cli._options import spend_of
    from discreet.cli.ledger._open import key_from, named
    from discreet.ledger import checked_period, open_ledger
    from discreet.privacy import currency, in_words

    budget = spend_of(epsilon, rho, mu, delta)
    if budget is None:
        raise ParameterError("say what may be lost in all, or in a window: --epsilon E, --rho R or --mu M")
    ends, neighbours, unit = moment(until), relation_of(relation), counted(counts)
    _refuse_existing(ledger)
    period = checked_period(None if every is None else every.value)
    is_new_key = key_file is not None and _made_key(key_file)
    with open_ledger(
        ledger, budget, key=key_from(key_file), every=period, until=ends, people=people, relation=neighbours,
        parts=part or (), counts=unit,
    ) as book:  # fmt: skip
        _say(named(ledger), book, in_words(book.budget))
    if currency(budget) == "pure":
        typer.echo(_PURE, err=True)
    if is_new_key:
        typer.echo(
            f"The key is in {key_file}. Keep a copy elsewhere: without it no release can be read again.", err=True
        )


_PURE = (
    "Without a delta it takes no GROUP BY over private keys, which must be discovered: make it with --delta 1e-6, or "
    "less, if there will be any. Keep a delta far below 1 / number of people."
)


def _refuse_existing(ledger: str) -> None:
    from discreet.cli.ledger._open import at_server, exists, named
    from discreet.ledger import open_ledger

    if at_server(ledger):
        try:
            open_ledger(ledger, None).close()
        except LedgerError:  # there is none, or whatever is wrong shows when it is made
            return
    elif not exists(ledger):
        return
    raise LedgerError(
        f"{named(ledger)} exists and is left as it is; name another ledger, or see it with `discreet ledger show`"
    )


def _made_key(path: Path) -> bool:
    from discreet import noise
    from discreet.cli.ledger._open import new_secret_file

    if path.exists():
        return False
    new_secret_file(path, noise.secret(32).hex(), "--key-file")
    return True


def _say(name: str, book: OwnedLedger, budget: str) -> None:
    from discreet.errors import printable
    from discreet.ledger import fingerprint

    owner = book.total
    window = "" if owner.every is None else f" for each {owner.every}"
    end = "" if owner.until is None else f", until {owner.until:%Y-%m-%d %H:%M} UTC"
    typer.echo(printable(f"{name} is made, with a budget of {budget}{window}{end}."))
    key = book.facts.public_key
    if key is not None:
        typer.echo(f"Its releases are signed by the key {fingerprint(key)}, in full {key}.")
