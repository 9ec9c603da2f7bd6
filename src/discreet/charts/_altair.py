"""The package that draws charts, which only the extra ``plots`` installs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from discreet.errors import MissingExtra

__all__ = ["load_altair"]


def load_altair() -> Any:
    """The altair package; `MissingExtra` without it."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise MissingExtra("plots need altair and vl-convert: pip install 'discreet[plots]'")
    import altair  # pyright: ignore[reportMissingImports]

    return altair
