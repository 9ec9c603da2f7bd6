"""Open the ledger that the command line names, as its owner, an analyst or an auditor."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from discreet.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from discreet.ledger import AccountLedger, LedgerAudit, OwnedLedger
    from discreet.policy import Policy

__all__ = [
    "Access",
    "access",
    "at_server",
    "exists",
    "forget",
    "key_from",
    "named",
    "new_secret_file",
    "opened",
    "reading",
    "spending",
    "token_from",
]


_KEY = re.compile(r"[0-9a-fA-F]{64}")
_LONGEST = 4096


def key_from(path: Path | None) -> bytes | None:
    """The 32 bytes of a key file; raises `ParameterError` for what is none."""
    if path is None:
        return None
    text = _read(path, "--key-file")
    if not _KEY.fullmatch(text):
        raise ParameterError(
            f"--key-file {path} holds no key: a key is 64 hexadecimal digits; `discreet ledger create` makes one"
        )
    return bytes.fromhex(text)


def token_from(account: str | None, path: Path | None) -> str | None:
    """The token that goes with `--account`: of the file if one is named, else of DISCREET_TOKEN, else None."""
    if account is None:
        if path is not None:
            raise ParameterError("--token-file goes with --account NAME: say whose token it is")
        return None
    if not account or not (account.isascii() and account.isprintable()):
        raise ParameterError(f"--account is the name of an account: letters, digits and _ . @ + -, not {account!r}")
    return os.environ.get("DISCREET_TOKEN") or None if path is None else _read(path, "--token-file")


def new_secret_file(path: Path, secret: str, option: str) -> None:
    """Write a secret to a new file that only its owner may read, durably; raises `ParameterError` if it cannot be."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ParameterError(f"{option} {path} exists and is left as it is; name another file") from None
    except (OSError, ValueError) as error:
        raise _path_error(option, path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        home = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(home)
        finally:
            os.close(home)
    except OSError as error:
        forget(path)
        raise _path_error(option, path, error) from None


def forget(path: Path) -> None:
    """Remove a secret file that is not needed."""
    path.unlink(missing_ok=True)


def _read(path: Path, option: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        raise _path_error(option, path, error) from None
    return content.decode("ascii", "replace").strip()


def _path_error(option: str, path: Path, error: Exception) -> ParameterError:
    reason = error.strerror if isinstance(error, OSError) else "it is no path"
    return ParameterError(f"{option} {path}: {reason}; name a file that this user may use")


def exists(ledger: str) -> bool:
    """Whether there is something at a path; True for a URL, which only its server can tell."""
    return at_server(ledger) or os.path.lexists(ledger)


def at_server(ledger: str) -> bool:
    """Whether a ledger is named by the URL of a server."""
    from discreet.postgres_url import SCHEMES

    return ledger.startswith(SCHEMES)


def named(ledger: str) -> str:
    """How messages call a ledger: never with a password.

    >>> named("postgresql://ada:secret@db.example/shop?ledger=visits"), named("visits.ledger")
    ("the ledger 'visits' at db.example, database shop", 'visits.ledger')
    """
    if not at_server(ledger):
        return ledger
    from discreet.ledger import address_of

    return address_of(ledger).where


class Access(TypedDict):
    """How `connect` opens a ledger for somebody."""

    account: str | None
    token: str | None
    key: bytes | None


def access(ledger: str, policy: Policy, account: str | None, token_file: Path | None, key_file: Path | None) -> Access:
    """How `connect` opens the ledger of the options.

    Raises `LedgerError` where there is none yet, for an account and for a policy that states no budget for a new one.
    """
    token = token_from(account, token_file)
    if (account is not None or policy.budget is None) and not exists(ledger):
        raise _none_at(ledger)
    return Access(account=account, token=token, key=key_from(key_file))


@contextmanager
def opened(ledger: str, key_file: Path | None) -> Generator[OwnedLedger]:
    """The ledger as its owner has it. Raises `LedgerError` if there is none."""
    from discreet.ledger import open_ledger

    if not exists(ledger):
        raise _none_at(ledger)
    with open_ledger(ledger, None, key=key_from(key_file)) as book:
        yield book


@contextmanager
def reading(
    ledger: str, key_file: Path | None, account: str | None, token_file: Path | None
) -> Generator[OwnedLedger | LedgerAudit | AccountLedger]:
    """The ledger as whoever asks may read it: the owner and auditors everything, an analyst their own account."""
    token = token_from(account, token_file)
    with opened(ledger, key_file) as book:
        if account is None:
            yield book
        elif getattr(book.accounts.get(account), "role", None) == "auditor":
            yield book.open_audit(account, token)
        else:
            yield book.open_account(account, token)


@contextmanager
def spending(
    ledger: str, key_file: Path | None, account: str | None, token_file: Path | None
) -> Generator[OwnedLedger | AccountLedger]:
    """The ledger as whoever asks may spend from it: the owner from the whole, an analyst from their account."""
    token = token_from(account, token_file)
    with opened(ledger, key_file) as book:
        yield book if account is None else book.open_account(account, token)


def _none_at(ledger: str) -> LedgerError:
    return LedgerError(f"there is no ledger at {ledger}; `discreet ledger create {ledger} --epsilon E` makes one")
