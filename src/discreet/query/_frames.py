"""Results as data frames, when the library for them is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["to_pandas", "to_polars"]


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as a pandas frame; raises `MissingExtra` without pandas."""
    try:
        return table.to_pandas()
    except ImportError:
        raise MissingExtra("to_pandas() needs pandas: pip install pandas") from None


def to_polars(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a polars frame; raises `MissingExtra` without polars."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("to_polars() needs polars: pip install polars") from None
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame
