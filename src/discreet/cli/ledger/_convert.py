"""`discreet ledger convert`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from discreet.cli.ledger._options import KeyFileOption, LedgerArgument

__all__ = ["EXAMPLES", "convert"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger convert visits.ledger --delta 1e-6\n\n"
    "  discreet ledger convert visits.ledger --delta 1e-6 --to rho\n\n"
    "The promise of the budget, its epsilon, stays, but for a probability of delta. Give the policy the same delta."
)


class Target(StrEnum):
    """What a ledger of pure epsilon may be kept in instead."""

    APPROX = "approx"
    RHO = "rho"


def convert(
    ledger: LedgerArgument,
    *,
    delta: Annotated[
        str,
        typer.Option(
            metavar="D",
            show_default=False,
            help="The probability that the promise may fail with; far below 1 / the number of people, as 1e-6.",
        ),
    ],
    to: Annotated[
        Target,
        typer.Option(
            help="approx: epsilon and delta. rho: for many queries with Gaussian noise, which add up to less there."
        ),
    ] = Target.APPROX,
    key_file: KeyFileOption = None,
) -> None:
    """Let a ledger that was made with an epsilon alone take queries that spend a delta. Once, and for good.

    Every charge stays, as what it costs in the new currency, and the caps of the accounts change with the whole.
    """
    from discreet.cli.ledger._open import opened
    from discreet.privacy import in_words

    with opened(ledger, key_file) as book:
        before = book.total
        book.convert(delta, to.value)
        after = book.total
        spent_up = [name for name, each in book.accounts.items() if each.role == "analyst" and not each.holds]
    typer.echo(
        f"Its budget of {in_words(before.cap)} is {in_words(after.cap)} from now on; {in_words(after.spent)} is spent, "
        f"and {in_words(after.remaining)} is left."
    )
    for name in spent_up:
        typer.echo(
            f"The account {name!r} has spent its cap by that: `discreet ledger grant` gives it another.", err=True
        )
