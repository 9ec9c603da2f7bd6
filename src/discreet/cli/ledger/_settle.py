"""`discreet ledger settle`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.ledger._options import KeyFileOption, LedgerArgument, relation_of
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "settle"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger settle visits.ledger --relation add_remove\n\n"
    "  discreet ledger settle visits.ledger --relation substitute --mixed\n\n"
    "Only a ledger that an older version made without --relation needs it, once, before its next charge."
)


def settle(
    ledger: LedgerArgument,
    *,
    relation: Annotated[
        str,
        typer.Option(
            metavar="add_remove|substitute",
            show_default=False,
            help="The neighbours that all policies so far were for; without --mixed, on your word.",
        ),
    ],
    mixed: Annotated[
        bool,
        typer.Option(
            "--mixed", help="Policies so far may have been for either: charges then count as for two people each."
        ),
    ] = False,
    key_file: KeyFileOption = None,
) -> None:
    """Say for which neighbours the charges of an older ledger are, which was made without a relation."""
    from discreet.cli.ledger._open import opened
    from discreet.privacy import in_words

    asked = relation_of(relation)
    if asked is None:
        raise ParameterError("say --relation add_remove or --relation substitute")
    with opened(ledger, key_file) as book:
        book.settle(asked, mixed=mixed)
        state = book.total
    typer.echo(
        f"Its losses are for neighbours by {asked} from now on; {in_words(state.spent)} is spent, and "
        f"{in_words(state.remaining)} is left."
    )
