"""Small text files that a user writes and names on the command line."""

from __future__ import annotations

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
        if path.stat().st_size > _LONGEST:
            raise ParameterError(f"{path} is larger than {_LONGEST >> 20} MiB; {usual}")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text; save it so") from None
