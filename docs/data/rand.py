"""Writes the table of `discreet.datasets.rand` from the file in the statsmodels package.

    python docs/data/rand.py [FILE.parquet]

Seven of its 45 columns, with names for people. Persons are numbered from 1, ages are whole years, dollars are cents at
the finest. All rows are there.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import duckdb

TABLE = Path(__file__).parents[2] / "src" / "discreet" / "datasets" / "rand" / "visits.parquet"

SELECT = """
SELECT dense_rank() OVER (ORDER BY zper)::INT AS person,
       year::TINYINT AS year,
       coins::TINYINT AS coinsurance,
       floor(xage)::TINYINT AS age,
       female = 1 AS female,
       mdvis::TINYINT AS doctor_visits,
       round(outpdol, 2) AS dollars
FROM read_csv(?)
ORDER BY person, year
"""


def source() -> Path:
    """The file in statsmodels, found without importing it."""
    spec = importlib.util.find_spec("statsmodels")
    assert spec is not None and spec.origin is not None, "pip install statsmodels"
    return Path(spec.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"


def main(target: Path) -> None:
    import pyarrow.parquet as pq

    with duckdb.connect() as connection:
        table = connection.sql(SELECT, params=[str(source())]).to_arrow_table()
    pq.write_table(table, target, compression="zstd", compression_level=22, row_group_size=len(table))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE)
