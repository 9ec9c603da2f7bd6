"""`discreet verify`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.ledger._options import AccountOption, KeyFileOption, Shape, ShapeOption, TokenFileOption
from discreet.errors import LedgerError, ParameterError, printable

if TYPE_CHECKING:
    from discreet.ledger._auditor import LedgerAudit
    from discreet.ledger._owner import OwnedLedger
    from discreet.query import Filed

__all__ = ["EXAMPLES", "Check", "checks", "verify"]


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
    from discreet.ledger._auditor import LedgerAudit
    from discreet.ledger._owner import OwnedLedger
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


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, how it came out, and what that means, in words."""

    name: str
    result: Literal["good", "bad", "not checked"]
    says: str


def checks(filed: Filed, key: str | None, book: OwnedLedger | LedgerAudit | None) -> Iterator[Check]:
    """All checks of a file, in the order in which they build on one another."""
    from discreet.ledger.crypto._signing import check_signature, fingerprint

    certificate = filed.certificate
    signer = _said(lambda: check_signature(certificate))
    if isinstance(signer, Check):
        yield Check("signature", "bad", signer.says)
    else:
        yield Check(
            "signature", "good", f"nobody changed the certificate since the key {fingerprint(signer)} signed it"
        )
    known = signer if isinstance(signer, str) else None
    yield _signer(certificate, known, key, None if book is None else book.facts.public_key)
    yield from _answer(filed)
    yield _loss(filed)
    if book is not None:
        yield from _in_ledger(certificate, book)


def _signer(certificate: Mapping[str, Any], signer: str | None, given: str | None, ledgers: str | None) -> Check:
    from discreet.ledger.crypto._signing import check_signature

    expected = [(name, key) for name, key in (("the key you gave", given), ("the ledger's key", ledgers)) if key]
    if signer is None:
        return Check("signer", "bad", "nobody can be said to have signed it")
    if not expected:
        return Check(
            "signer",
            "not checked",
            "whose key that is, no file can tell: ask the owner for the ledger's public key, and give it as --key",
        )
    for _, key in expected:
        found = _said(lambda key=key: check_signature(certificate, key))
        if isinstance(found, Check):
            return Check("signer", "bad", found.says)
    return Check("signer", "good", f"it is {' and '.join(name for name, _ in expected)}")


def _answer(filed: Filed) -> Iterator[Check]:
    if filed.bare:
        yield Check("answer", "not checked", "the file is a certificate alone, without the answer that it is of")
        return
    if filed.kind != filed.certificate.get("kind"):
        yield Check("answer", "bad", "the certificate is of another kind of release than what the file holds")
        return
    wrong = [name for name, found in filed.digests.items() if filed.certificate.get(name) != found]
    if wrong:
        what = "values" if "answer" in wrong else "error bars"
        yield Check("answer", "bad", f"the {what} in the file are not those that were certified: they were changed")
        return
    yield Check("answer", "good", "the values in the file are those that were certified, to the last digit")
    if filed.left_out is not None:
        yield Check("error bars", "not checked", f"not covered by the certificate: {filed.left_out}")


def _loss(filed: Filed) -> Check:
    from discreet.privacy import from_json, in_words
    from discreet.query import loss_follows

    if filed.loss != filed.certificate.get("loss"):
        return Check("loss", "bad", "the file states another loss than its certificate")
    why = _said(lambda: loss_follows(filed.certificate))
    if isinstance(why, Check):
        return Check("loss", "bad", why.says)
    if why is not None:
        return Check("loss", "not checked", why)
    return Check("loss", "good", f"{in_words(from_json(filed.loss))} follows from the mechanisms that are named")


def _in_ledger(certificate: Mapping[str, Any], book: OwnedLedger | LedgerAudit) -> Iterator[Check]:
    """That the ledger charged for this release, and is whole."""
    from discreet.privacy import from_json, in_currency, in_words, parts

    position = certificate.get("position")
    whole = _said(book.verify)
    if isinstance(whole, Check):
        yield Check("ledger", "bad", whole.says)
        return
    yield Check("ledger", "good", f"all {whole:,} entries of its chain are whole and in order")
    found = next((each for each in book.entries() if each.kind == "reserve" and each.hash == position), None)
    if found is None or found.loss is None or certificate.get("ledger") != book.head.ledger:
        yield Check(
            "charge",
            "bad",
            "the ledger has no entry at the certificate's position: that is in another ledger, or was taken back",
        )
        return
    stated = _said(lambda: parts(in_currency(from_json(certificate.get("loss")), book.facts.currency)))
    right = found.plan_hash == certificate.get("plan") and found.account == (certificate.get("account") or "")
    if isinstance(stated, Check) or not right or any(a > b for a, b in zip(stated, parts(found.loss), strict=True)):
        yield Check("charge", "bad", "the ledger charged for something else, or for less than is stated")
        return
    yield Check(
        "charge", "good", f"the ledger charged {in_words(found.loss)} for it before it was drawn, entry {found.seq:,}"
    )


def _said(ask: Callable[[], Any]) -> Any:
    """What comes back, or a check with what was refused."""
    try:
        return ask()
    except (LedgerError, ParameterError) as error:
        return Check("", "bad", str(error))
