"""Releases as files of their own, to hand on and to verify."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from discreet.errors import DataError, ParameterError

__all__ = ["check_new_file", "check_writable", "read_file", "write_file"]

_LARGEST = 2**31
"""Bytes: as many as a ledger stores of one release."""


def check_new_file(path: str | os.PathLike[str]) -> None:
    """Raise `ParameterError` where `write_file` would be refused: to be asked before anything is spent."""
    _refuse_existing(path)
    check_writable(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `ParameterError` for a file that cannot be written. Leaves no file behind, and changes none."""
    place = Path(path)
    try:
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        is_new = not os.path.lexists(place)
        if is_new or place.is_file():  # a pipe would wait for its reader
            place.open("ab").close()
        if is_new:
            place.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise ParameterError(f"{os.fspath(path)!r} cannot be written: {_reason(error)}; name another file") from None


def _refuse_existing(path: str | os.PathLike[str]) -> None:
    if os.path.lexists(path):
        raise ParameterError(f"{os.fspath(path)!r} is there already, and a release overwrites nothing; name a new file")
    if not Path(path).parent.is_dir():
        raise ParameterError(f"{os.fspath(path)!r} cannot be written: there is no such directory; make it first")


def write_file(payload: bytes, path: str | os.PathLike[str]) -> None:
    """Write a new file. Raises `ParameterError` if there is one, `DataError` if it cannot be written."""
    _refuse_existing(path)
    try:
        with Path(path).open("xb") as file:
            file.write(payload)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{os.fspath(path)!r} cannot be written: {_reason(error)}; ask again, a repeat is free"
        ) from None


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file of at most 2 GiB; raises `DataError` if it cannot be read or is larger."""
    try:
        with Path(path).open("rb") as file:
            payload = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise DataError(f"{os.fspath(path)!r} cannot be read: {_reason(error)}; name the file of a release") from None
    if len(payload) > _LARGEST:
        raise DataError(f"{os.fspath(path)!r} is larger than any release that is read, 2 GiB")
    return payload


def _reason(error: OSError | ValueError) -> str | None:
    return error.strerror if isinstance(error, OSError) else "its name cannot be one"
