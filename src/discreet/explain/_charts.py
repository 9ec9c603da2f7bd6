"""altair when it is there, and charts written to files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra, ParameterError

__all__ = ["load_altair", "check_path", "save"]

_SUFFIXES = (".svg", ".png", ".html")


def load_altair() -> Any:
    """The altair package; `MissingExtra` without it."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise MissingExtra("plots need altair and vl-convert: pip install 'discreet[plots]'")
    import altair as found  # pyright: ignore[reportMissingImports]

    return found


def check_path(path: Path | str) -> Path:
    """The path, before any work: `ParameterError` for another suffix or no directory, `MissingExtra` without altair."""
    checked = Path(path)
    if checked.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"a plot is a file that ends in {', '.join(_SUFFIXES)}, got {checked.name}")
    if not checked.absolute().parent.is_dir():
        raise ParameterError(f"there is no directory {checked.parent}")
    altair()
    return checked


def save(chart: Any, path: Path | str) -> None:
    """Write a chart as .svg, .png or .html. Raises as `check_path` does, and if the file cannot be written."""
    checked = check_path(path)
    try:
        chart.save(str(checked))
    except OSError as error:
        raise ParameterError(f"{checked} cannot be written: {error.strerror}") from None
