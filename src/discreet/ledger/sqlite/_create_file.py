"""Create a ledger file in one step, and recognise one."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.log._database import Fill
from discreet.ledger.log._schema import FORMAT
from discreet.ledger.sqlite._errors import in_plain_words
from discreet.ledger.sqlite._payload_files import PAYLOADS
from discreet.ledger.sqlite._sqlite import APPLICATION_ID, build, header_of
from discreet.ledger.sqlite._wal import synced, synced_directory

__all__ = ["create", "identify"]

_LEFTOVERS = ("-wal", "-shm", "-journal")
_BESIDE = (*_LEFTOVERS, PAYLOADS)
_PREFIX, _SUFFIX = ".discreet-", ".new"


def create(path: str, fill: Fill) -> None:
    """Make the ledger at `path`, whole or not at all; an existing file is left as it is.

    The file is built beside its place under another name, synced, and linked to its place, which never overwrites.
    """
    where = f"the new ledger {path!r}"
    home = Path(path).parent
    if not home.is_dir():
        raise LedgerError(f"{where} cannot be made: there is no directory {str(home)!r}; make it first")
    for rest in (path + ending for ending in _BESIDE):
        if os.path.lexists(rest) and not os.path.lexists(path):
            raise LedgerError(
                f"{where} cannot be made: {rest!r} is there, a part of a ledger that was moved or deleted; put the "
                "ledger back, or move that too"
            )
    with in_plain_words(where):
        handle, name = tempfile.mkstemp(_SUFFIX, _PREFIX, home)  # for its owner's eyes only: mode 0600
        draft = Path(name)
        try:
            os.close(handle)
            build(str(draft), fill)
            _sync(draft)
            try:
                os.link(draft, path)
            except FileExistsError:
                return
        finally:
            draft.unlink(missing_ok=True)
            for ending in _LEFTOVERS:
                draft.with_name(draft.name + ending).unlink(missing_ok=True)
        synced_directory(home)


def identify(path: str) -> None:
    """Raise `LedgerError` unless the file is a ledger that this version can use. The file is not changed or locked."""
    where = f"the file {path!r}"
    with in_plain_words(where):
        status = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(
                f"{path!r} is a directory or a device, not a file; give the path of a file for the ledger"
            )
        if status.st_nlink != 1:
            _drop_drafts(path)
            if os.stat(path).st_nlink > 1:  # noqa: PTH116
                raise LedgerError(f"{where} has a second name (a hard link); delete all but one of its names")
        header = header_of(path)
    if header is None:
        return
    number, mark = (int.from_bytes(header[at : at + 4]) for at in (60, 68))
    if header[:16] != b"SQLite format 3\0" or mark != APPLICATION_ID:
        raise LedgerError(f"{where} is not a ledger of discreet; give another path, and a new ledger is made there")
    if number > FORMAT:
        raise LedgerError(
            f"{where} is a ledger of format {number}, and this version of discreet knows formats up to {FORMAT}: "
            "upgrade discreet"
        )


def _drop_drafts(path: str) -> None:
    # A process that died between linking and unlinking has left the ledger's first name behind.
    for draft in Path(path).parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        try:
            if draft.samefile(path):
                draft.unlink()
        except FileNotFoundError:
            continue


def _sync(draft: Path) -> None:
    with draft.open("rb") as file:
        synced(file.fileno())
