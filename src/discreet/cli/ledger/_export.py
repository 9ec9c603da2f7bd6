"""`discreet ledger export`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli.ledger._options import AccountOption, KeyFileOption, LedgerArgument, TokenFileOption
from discreet.elapsed import elapsed
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Entry

__all__ = ["EXAMPLES", "export"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger export visits.ledger --output entries.jsonl\n\n"
    "  discreet ledger export visits.ledger --format csv | head\n\n"
    "  discreet ledger export visits.ledger --account officer --token-file officer.token --format csv\n\n"
    "Each entry is checked against its own hash on the way; `discreet ledger check` also checks their order and sums."
)

_FORMULA = ("=", "+", "-", "@")


class _Lines(StrEnum):
    jsonl = "jsonl"
    csv = "csv"


def export(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="A new file; an existing one is left as it is. Default: print it.",
        ),
    ] = None,
    form: Annotated[_Lines, typer.Option("--format", help="A JSON object on each line, or CSV.")] = _Lines.jsonl,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Write all entries, without the releases: who was charged what for which plan, and when. For auditors too."""
    from discreet.cli.ledger._open import reading
    from discreet.ledger import LedgerAudit, OwnedLedger

    with ExitStack() as held:
        book = held.enter_context(reading(ledger, key_file, account, token_file))
        if not isinstance(book, OwnedLedger | LedgerAudit):
            raise LedgerError(
                f"the account {account} is an analyst's; its owner and auditors can export the ledger. "
                "`discreet ledger show --last N` has its own entries"
            )
        file = sys.stdout if output is None else held.enter_context(_new(output))
        write = _write_csv if form is _Lines.csv else _write_jsonl
        if output is None:
            write(book.entries(), file)
            return
        try:
            with elapsed():
                write(book.entries(), file)
                file.flush()
        except OSError as error:
            output.unlink(missing_ok=True)
            raise ParameterError(f"{output} cannot be written: {error.strerror}; name another file") from None
        except BaseException:
            output.unlink(missing_ok=True)
            raise


def _new(path: Path) -> IO[str]:
    try:
        return path.open("x", encoding="utf-8", newline="")
    except FileExistsError:
        raise ParameterError(f"{path} exists and is left as it is; name another file, or remove it first") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise ParameterError(f"{path} cannot be written: {reason}; name another file") from None


def _write_jsonl(entries: Iterable[Entry], file: IO[str]) -> None:
    from discreet.ledger import entry_json

    for entry in entries:
        file.write(json.dumps(entry_json(entry)) + "\n")


def _write_csv(entries: Iterable[Entry], file: IO[str]) -> None:
    from discreet.ledger import entry_json

    writer = csv.writer(file, lineterminator="\n")
    units: list[str] = []
    for entry in entries:
        fields = entry_json(entry)
        if not units:
            units = [name for name in fields["spent"] if name != "kind"]
            writer.writerow(_flat(fields, units))
        writer.writerow(_flat(fields, units).values())


def _flat(fields: dict[str, Any], units: list[str]) -> dict[str, Any]:
    """An entry in columns; the numbers of a loss have one each."""
    row: dict[str, Any] = {}
    for name, value in fields.items():
        if name in ("loss", "spent"):
            loss = cast("dict[str, str]", value or {})
            row |= {f"{name}_{unit}": loss.get(unit) for unit in units}
        else:
            row[name] = _inert(value) if isinstance(value, str) else value
    return row


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an analyst chooses keys of requests, and an auditor opens them."""
    return f"'{text}" if text.startswith(_FORMULA) else text
