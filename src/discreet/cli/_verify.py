"""`discreet verify`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.ledger._options import AccountOption, KeyFileOption, Shape, ShapeOption, TokenFileOption
from discreet.errors import LedgerError, ParameterError, printable

if TYPE_CHECKING:
    from discreet.ledger import Check

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
    from discreet.cli.ledger._open import reading
    from discreet.ledger import LedgerAudit, verify_release
    from discreet.release import parse_release_file, read_file

    if key is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", key.strip()):
        raise ParameterError("--key is a public key of 64 hexadecimal digits, as the certificates of a ledger hold it")
    release = parse_release_file(read_file(file))
    if ledger is None:
        results = list(verify_release(release, key))
    else:
        with reading(ledger, key_file, account, token_file) as book:
            if not isinstance(book, LedgerAudit):
                raise LedgerError(
                    "an analyst's account sees its own entries alone, and no chain; leave --ledger out and give --key, "
                    "or ask the ledger's owner or an auditor"
                )
            results = list(verify_release(release, key, book))
    _print(results, form)
    if any(check.result == "bad" for check in results):
        raise typer.Exit(1)


def _print(results: list[Check], form: Shape) -> None:
    from discreet.cli._output import print_json, print_table

    good = all(check.result != "bad" for check in results)
    if form is Shape.json:
        rows = [{"check": check.name, "result": check.result, "says": check.meaning} for check in results]
        print_json({"good": good, "checks": rows})
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("check", "result", "what it means", box=box.SIMPLE_HEAD)
    for check in results:
        table.add_row(check.name, check.result, Text(printable(check.meaning)))
    print_table(table)
    typer.echo("nothing is wrong that was checked" if good else "do not rely on this release")
