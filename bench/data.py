"""Synthetic purchases: skewed people (1 to 50 rows, mean 10), 20 public regions, 200 Zipf categories, amounts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REGIONS = [f"region_{i:02d}" for i in range(20)]
_FOLDER = Path(__file__).parent / "data"
_CHUNK = 10_000_000


def purchases(rows: int, people: int) -> Path:
    """The Parquet file, made on first use."""
    path = _FOLDER / f"purchases-{rows}.parquet"
    if not path.exists():
        _FOLDER.mkdir(exist_ok=True)
        partial = path.with_suffix(".part")
        chunks = max(rows // _CHUNK, 1)
        first = _table(rows // chunks, people // chunks, 0, chunks)
        with pq.ParquetWriter(partial, first.schema) as writer:
            writer.write_table(first, row_group_size=500_000)
            del first
            for chunk in range(1, chunks):
                writer.write_table(_table(rows // chunks, people // chunks, chunk, chunks), row_group_size=500_000)
        partial.rename(path)
    return path


def texted(rows: int, people: int) -> Path:
    """The same with a text of 36 characters for each person."""
    import duckdb

    path = _FOLDER / f"purchases-{rows}-text.parquet"
    if not path.exists():
        person = "CAST(CAST(md5(CAST(person_id AS VARCHAR)) AS UUID) AS VARCHAR) AS person_id"
        select = f"SELECT * REPLACE ({person}) FROM '{purchases(rows, people)}'"
        duckdb.connect().execute(f"COPY ({select}) TO '{path}' (ROW_GROUP_SIZE 500000)")
    return path


def _table(rows: int, people: int, chunk: int, chunks: int) -> pa.Table:
    """One of some chunks; the people of each have numbers between those of the others."""
    dice = np.random.default_rng(1 + chunk)
    weight = np.clip(dice.pareto(1.3, people) + 1, 1, 50)
    each = np.clip(np.round(weight * (rows / weight.sum())), 1, 50)
    person = np.repeat(np.arange(people), each.astype(int))
    person = person[:rows] if len(person) >= rows else np.append(person, dice.integers(0, people, rows - len(person)))
    popularity = 1 / np.sqrt(np.arange(1, 21))
    home = dice.choice(20, people, p=popularity / popularity.sum())
    region = np.where(dice.random(rows) < 0.7, home[person], dice.integers(0, 20, rows))
    zipf = 1 / np.arange(1, 201)
    category = dice.choice(200, rows, p=zipf / zipf.sum())
    order = dice.permutation(rows)
    return pa.table(
        {
            "person_id": person[order] * chunks + chunk,
            "region": pa.array(REGIONS).take(pa.array(region[order])),
            "category": pa.array([f"category_{i:03d}" for i in range(200)]).take(pa.array(category[order])),
            "amount": np.clip(dice.lognormal(4, 1, rows), 0, 1000),
        }
    )
