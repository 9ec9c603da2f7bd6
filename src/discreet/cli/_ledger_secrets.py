"""Keys and tokens in files: read, and made for their owner's eyes only."""

from __future__ import annotations

import os
import re
from pathlib import Path

from discreet.errors import ParameterError

__all__ = ["forget", "key_from", "new_secret_file", "token_from"]

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
        raise _trouble(option, path, error) from None
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
        raise _trouble(option, path, error) from None


def forget(path: Path) -> None:
    """Remove a secret that is of no use."""
    path.unlink(missing_ok=True)


def _read(path: Path, option: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        raise _trouble(option, path, error) from None
    return content.decode("ascii", "replace").strip()


def _trouble(option: str, path: Path, error: Exception) -> ParameterError:
    reason = error.strerror if isinstance(error, OSError) else "it is no path"
    return ParameterError(f"{option} {path}: {reason}; name a file that this user may use")
