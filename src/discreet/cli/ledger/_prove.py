"""`discreet ledger prove`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.ledger._options import AccountOption, KeyFileOption, LedgerArgument, TokenFileOption
from discreet.elapsed import elapsed
from discreet.errors import LedgerError

__all__ = ["EXAMPLES", "prove"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger prove visits.ledger visits.release > opening.json\n\n"
    "Whoever has the certificate checks it in Python:\n\n"
    "  discreet.ledger.check_opening(json.load(open('opening.json')), certificate\\['position'])"
)


def prove(
    ledger: LedgerArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="A release, a certificate, or a noted head.")
    ],
    *,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Open the position that a certificate holds: print what its entry says, and what proves that to anybody.

    The whole chain is checked first, and must hold the entry. What is printed tells nothing of other accounts.
    """
    from discreet.cli._output import print_json
    from discreet.cli.ledger._check import noted_in, own_anchors
    from discreet.cli.ledger._open import named, reading
    from discreet.ledger import LedgerAudit, OwnedLedger

    noted = noted_in(file)
    with elapsed(), reading(ledger, key_file, account, token_file) as book:
        if not isinstance(book, OwnedLedger | LedgerAudit):
            raise LedgerError(f"the account {account} is an analyst's; its owner and auditors can open an entry")
        book.verify(own_anchors([noted], book.head, named(ledger)))
        opening = book.opening(noted[2])
    print_json(opening)
