"""What several commands of `discreet collect` take, and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Scheme

__all__ = ["SchemeOption", "StoreOption", "lines_of", "read_file", "scheme_from"]

SchemeOption = Annotated[
    Path,
    typer.Option(
        "--scheme",
        "-s",
        metavar="FILE",
        show_default=False,
        help="The document that devices and collector share; `discreet collect scheme` writes one.",
    ),
]
StoreOption = Annotated[
    Path, typer.Option(metavar="DIR", show_default=False, help="The directory that keeps the counts, on a local disk.")
]


def scheme_from(path: Path) -> Scheme[Any]:
    """The scheme of a document. Raises `ParameterError` for a file that cannot be read or is none."""
    from discreet.local import from_json

    return from_json(read_file(path, "--scheme"))


def read_file(path: Path, option: str) -> bytes:
    """What a file holds, or a `ParameterError` that names the option."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise ParameterError(f"{option} {path}: {reason}; name a file that this user may read") from None


def lines_of(content: bytes, what: str) -> list[str]:
    """The lines of a text in UTF-8. Raises `ParameterError` if it is none, or empty."""
    try:
        lines = [line.removesuffix("\r") for line in content.decode("utf-8-sig").removesuffix("\n").split("\n")]
    except UnicodeDecodeError:
        raise ParameterError(f"{what} must be text in UTF-8, a line each") from None
    if lines == [""]:
        raise ParameterError(f"{what}: there are none; write one a line")
    return lines
