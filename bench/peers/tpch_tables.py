"""Writes the tables of TPC-H as Parquet, and the texts of its queries: python tpch_tables.py SCALE FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
from duckdb_extensions import import_extension


def main() -> None:
    scale, folder = float(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect()
    import_extension("tpch", con=connection)
    connection.execute("LOAD tpch")
    connection.execute(f"CALL dbgen(sf={scale})")
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        connection.execute(f"COPY {table} TO '{folder / table}.parquet'")
    queries = connection.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()
    (folder / "queries.json").write_text(json.dumps([query for (query,) in queries]), encoding="utf-8")


if __name__ == "__main__":
    main()
