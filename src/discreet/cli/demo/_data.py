"""The demo's public data, its policy, and the truth beside the answer."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.query import Release

__all__ = ["POLICY", "find_data", "truth", "versus_truth"]

POLICY = """\
version = "1984"             # a public label of the data

[budget]
epsilon = 3                  # for all queries together
delta = 1e-6

[tables.visits]
unit = "zper"                # the person: all rows of one zper are protected together
max_rows = 5                 # years of one person that count
max_groups = 1               # a person has one plan

[tables.visits.columns]
coins = { type = "int", keys = [0, 25, 50, 95, 100], nullable = false }
outpdol = { type = "float", bounds = [0, 500], nullable = false }
mdvis = { type = "int", bounds = [0, 20], nullable = false }
"""

_TRUTH = """
SELECT coins,
       avg(least(outpdol, 500)), avg(outpdol),
       avg(least(mdvis, 20)), avg(mdvis)
FROM read_csv(?) GROUP BY coins
"""


def find_data() -> Path:
    """The RAND data in the statsmodels wheel, read by path, since the packaged loader drops the person.

    Raises `MissingExtra` if statsmodels is not installed.
    """
    spec = importlib.util.find_spec("statsmodels")
    for home in [] if spec is None else spec.submodule_search_locations or []:
        file = Path(home, "datasets", "randhie", "src", "randhie.csv")
        if file.is_file():
            return file
    raise MissingExtra("the demo's data ship with statsmodels: pip install 'discreet[demo]'")


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
    rates: list[int] = answer.column("coins").to_numpy().tolist()
    values: list[float] = answer.column(column).to_numpy().tolist()
    for rate, value, half in zip(rates, values, halves, strict=True):
        clamped, raw = exact[rate][column]
        inside = "yes" if abs(value - clamped) <= half else "no"
        table.add_row(f"{rate} %", f"{value:.2f}", f"{half:.2f}", f"{clamped:.2f}", inside, f"{raw:.2f}")
    return table
