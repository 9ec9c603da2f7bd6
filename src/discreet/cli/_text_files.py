"""Small text files that a user writes and names on the command line."""

from __future__ import annotations

import io
from pathlib import Path

from discreet.errors import ParameterError

__all__ = ["text_in"]

_LONGEST = 2**24


def text_in(path: Path, usual: str) -> str:
    """The text of a file in UTF-8.

    Raises `ParameterError` if it cannot be read or is larger than 16 MiB, and says then what is `usual`.

    >>> text_in(Path("nowhere.csv"), "a codebook has a line for each column")
    Traceback (most recent call last):
    discreet.errors.ParameterError: nowhere.csv: there is no such file
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise ParameterError(f"{path} is larger than {_LONGEST >> 20} MiB; {usual}")
        return io.TextIOWrapper(io.BytesIO(content), "utf-8-sig").read()
    except FileNotFoundError:
        raise ParameterError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text; save it so") from None
    except ValueError:
        raise ParameterError(f"{str(path)!r} is no name of a file") from None
