"""`discreet verify`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._ledger_options import AccountOption, KeyFileOption, Shape, ShapeOption, TokenFileOption
from discreet.errors import LedgerError, ParameterError, printable

if TYPE_CHECKING:
    from discreet.cli._verify_checks import Check

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet query "SELECT COUNT(*) AS n FROM visits" --data visits.parquet --policy visits.toml '
    "--ledger visits.ledger --epsilon 0.5 --save visits.release\n\n"
    "  discreet verify visits.release --ledger visits.ledger\n\n"
    "[bold]Exit codes[/bold]\n\n"
    "  0 nothing is wrong; 1 something is; 2 bad usage; 4 the file or the ledger cannot be read"
)


def verify(  # noqa: PLR0913 — an option each
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="A release by --save, its bytes, what `discreet query --format json` prints, or a certificate.",
        ),
    ],
    *,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            "-l",
            metavar="LEDGER",
            show_default=False,
            help="The ledger that is said to have charged for it: a file or a URL. For its owner and auditors.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="HEX", show_default=False, help="The ledger's public key, as its owner made it known."
        ),
    ] = None,
    form: ShapeOption = Shape.table,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Check a release: who signed it, that it is unchanged, and that its loss follows from its mechanisms.

    Reads no data and spends nothing. Whose key signed it is known with --key or --ledger alone.
    """
    from discreet.cli._ledger_open import reading
    from discreet.cli._verify_checks import checks
    from discreet.ledger._audit import LedgerAudit
    from discreet.ledger._owned import OwnedLedger
    from discreet.query import read_file, read_filed

    if key is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", key.strip()):
        raise ParameterError("--key is a public key of 64 hexadecimal digits, as the certificates of a ledger hold it")
    filed = read_filed(read_file(file))
    if ledger is None:
        found = list(checks(filed, key, None))
    else:
        with reading(ledger, key_file, account, token_file) as book:
            if not isinstance(book, OwnedLedger | LedgerAudit):
                raise LedgerError(
                    "an analyst's account sees its own entries alone, and no chain; leave --ledger out and give --key, "
                    "or ask the ledger's owner or an auditor"
                )
            found = list(checks(filed, key, book))
    _print(found, form)
    if any(check.result == "bad" for check in found):
        raise typer.Exit(1)


def _print(found: list[Check], form: Shape) -> None:
    from discreet.cli._output import print_json, print_table

    good = all(check.result != "bad" for check in found)
    if form is Shape.json:
        said = [{"check": check.name, "result": check.result, "says": check.says} for check in found]
        print_json({"good": good, "checks": said})
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("check", "result", "what it means", box=box.SIMPLE_HEAD)
    for check in found:
        table.add_row(check.name, check.result, Text(printable(check.says)))
    print_table(table)
    typer.echo("nothing is wrong that was checked" if good else "do not rely on this release")
