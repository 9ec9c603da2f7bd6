"""`discreet ledger check`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli.ledger._options import (
    AccountOption,
    KeyFileOption,
    LedgerArgument,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.elapsed import elapsed
from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Head

__all__ = ["EXAMPLES", "check", "noted_in", "own_anchors"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger check visits.ledger --write-head /elsewhere/visits.head\n\n"
    "  discreet ledger check visits.ledger --anchor /elsewhere/visits.head --anchor release.json\n\n"
    "[bold]Exit codes[/bold]\n\n"
    "  0 every entry is what discreet wrote, and every anchor is in it; 4 the ledger cannot be trusted; 2 bad usage"
)

_HASH = re.compile(r"[0-9a-f]{64}")
_LONGEST = 2**31
_BLIND = (
    "Without an anchor nobody can know whether its end was cut off, or an older copy was put back: note the head where "
    "the ledger's keeper cannot reach, with --write-head, and check against it with --anchor."
)


def check(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    *,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(
            "--anchor",
            metavar="FILE",
            show_default=False,
            help="What the ledger must hold: a head noted earlier, or a release or certificate. Repeatable.",
        ),
    ] = None,
    write_head: Annotated[
        Path | None,
        typer.Option(
            "--write-head",
            metavar="FILE",
            show_default=False,
            help="After a good check, note there where the ledger ends. A head that is there already is an anchor too.",
        ),
    ] = None,
    form: ShapeOption = Shape.table,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Walk the whole chain: hashes, releases, order, sums, and what each event made of each budget.

    It takes a few minutes for a million entries; others may use the ledger meanwhile.
    """
    from discreet.cli.ledger._open import named, reading
    from discreet.ledger import LedgerAudit, OwnedLedger, head_json

    files = [*(anchor or []), *([write_head] if write_head is not None and write_head.exists() else [])]
    anchors = [noted_in(file) for file in dict.fromkeys(files)]
    with elapsed(), reading(ledger, key_file, account, token_file) as book:
        if not isinstance(book, OwnedLedger | LedgerAudit):
            raise LedgerError(f"the account {account} is an analyst's; its owner and auditors can check the ledger")
        head = book.head
        wanted = own_anchors(anchors, head, named(ledger))
        count = book.verify({"its head a moment ago": head.hash, **wanted})
    if write_head is not None:
        _write(write_head, head)
    if form is Shape.json:
        from discreet.cli._output import print_json

        print_json({"entries": count, "head": head_json(head), "anchors": len(anchors)})
        return
    typer.echo(f"{count:,} entries, each as discreet wrote it and in its place. The head is {head.hash}.")
    typer.echo(_BLIND if not wanted else f"It holds what was noted in {', '.join(map(str, dict.fromkeys(files)))}.")
    if write_head is not None:
        typer.echo(f"The head is noted in {write_head}; keep it where the ledger's keeper cannot reach.")


def noted_in(path: Path) -> tuple[str, str | None, str]:
    """What a file notes of a ledger: the file's name, the ledger if it is noted, and the hash of an entry."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise ParameterError(f"--anchor {path}: {reason}; name a head, a release or a certificate") from None
    noted = _noted(_as_json(content))
    if noted is None:
        raise ParameterError(
            f"--anchor {path} notes no entry of a ledger: give what --write-head wrote, or a release with a certificate"
        )
    return str(path), *noted


def _as_json(content: bytes) -> object:
    """The JSON of a file: of a head or a certificate, or the one within a stored release."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    try:
        from discreet.release import parse_release_file

        return parse_release_file(content).certificate
    except LedgerError:
        return None


def _noted(data: object) -> tuple[str | None, str] | None:
    if not isinstance(data, dict):
        return None
    known = cast("dict[str, Any]", data)
    ledger = known.get("ledger")
    for name in ("hash", "position"):
        value = known.get(name)
        if isinstance(value, str) and _HASH.fullmatch(value):
            return ledger if isinstance(ledger, str) else None, value
    return _noted(known.get("certificate"))


def own_anchors(anchors: list[tuple[str, str | None, str]], head: Head, name: str) -> dict[str, str]:
    """The hashes that files note, if they are of this ledger."""
    for file, ledger, _ in anchors:
        if ledger not in (None, head.ledger):
            raise LedgerError(
                f"{file} was noted from another ledger than {name}: name the ledger that it was noted from; if that is "
                "this one, it was created again, and its earlier entries are lost"
            )
    names: dict[str, list[str]] = {}
    for file, _, value in anchors:
        names.setdefault(value, []).append(file)
    return {" and ".join(files): value for value, files in names.items()}


def _write(path: Path, head: Head) -> None:
    """Replace the head noted in a file, whole or not at all."""
    from discreet.ledger import head_json

    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with draft.open("x", encoding="ascii") as file:
            file.write(json.dumps(head_json(head)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ParameterError(
            f"the ledger is good, and its head cannot be noted in {path}: {error.strerror}; name another file"
        ) from None
