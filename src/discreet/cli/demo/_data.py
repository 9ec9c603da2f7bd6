"""The demo's files, and the truth beside an answer."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.datasets import rand

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.query import Release

__all__ = ["copy_files", "truth", "versus_truth"]

_TRUTH = """
SELECT coinsurance,
       avg(least(dollars, 500)), avg(dollars),
       avg(least(doctor_visits, 20)), avg(doctor_visits)
FROM read_csv(?) GROUP BY coinsurance
"""


def copy_files(folder: Path) -> None:
    """The table as visits.csv and the policy as visits.toml, in a folder."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    csv.write_csv(pq.read_table(rand.table), folder / "visits.csv")
    shutil.copyfile(rand.policy, folder / "visits.toml")


def truth(path: Path) -> dict[int, dict[str, tuple[float, float]]]:
    """By coinsurance rate and column: the true mean of the clamped values, and of the values as they are.

    Plain DuckDB, outside discreet. Nothing but public data may be treated like this.
    """
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.execute(_TRUTH, [str(path)]).fetchall()
    return {int(k): {"dollars": (float(a), float(b)), "visits": (float(c), float(d))} for k, a, b, c, d in rows}


def versus_truth(
    release: Release, exact: Mapping[int, Mapping[str, tuple[float, float]]], column: str, title: str
) -> Table:
    """One noisy column beside the truth."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for name in ("coinsurance", "private answer", "± 95 %", "truth, clamped", "within ±", "truth, not clamped"):
        table.add_column(name, justify="right")
    answer = release.to_arrow()
    halves = release.error(column, level=0.95)
    rates: list[int] = answer.column("coinsurance").to_numpy().tolist()
    values: list[float] = answer.column(column).to_numpy().tolist()
    for rate, value, half in zip(rates, values, halves, strict=True):
        clamped, raw = exact[rate][column]
        inside = "yes" if abs(value - clamped) <= half else "no"
        table.add_row(f"{rate} %", f"{value:.2f}", f"{half:.2f}", f"{clamped:.2f}", inside, f"{raw:.2f}")
    return table
