"""Views that only show columns of a table are read; whatever else a view computes could betray a row."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import DataError
from discreet.policy import load_policy

POLICY = load_policy({"version": "1", "tables": {"v": {"unit": "p", "max_rows": 3, "columns": {"x": {"type": "int"}}}}})


def _database(folder: Path, *views: str) -> str:
    path = str(folder / "t.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE base AS SELECT i % 5 AS p, i AS x, 'a' || i AS s FROM range(9) AS r(i)")
        for view in views:
            connection.execute(view)
    return path


def _check(path: str) -> None:
    engine = DuckDB(path, POLICY)
    try:
        engine.check("v")
    finally:
        engine.close()


@pytest.mark.parametrize(
    "views",
    [
        ("CREATE VIEW v AS SELECT * FROM base",),
        ("CREATE VIEW v AS FROM base",),
        ("CREATE VIEW V AS SELECT b.p, b.x AS x FROM base AS b",),
        ("CREATE VIEW v(p, x) AS SELECT p, x FROM base",),
        ('CREATE VIEW "w" AS SELECT b.* FROM base b', "CREATE VIEW v AS SELECT p, x FROM w"),
    ],
)
def test_columns_of_a_table(views: tuple[str, ...], tmp_path: Path) -> None:
    _check(_database(tmp_path, *views))


@pytest.mark.parametrize(
    "view",
    [
        "SELECT p, CAST(replace(s, 'a', '') AS INT) AS x FROM base",
        "SELECT p, CASE WHEN p = 4 THEN error(s) ELSE x END AS x FROM base",
        "SELECT p, count(*) OVER () AS x FROM base",
        "SELECT p, x FROM base LIMIT 3",
        "SELECT DISTINCT p, x FROM base",
        "SELECT p, x FROM base WHERE CAST(replace(s, 'a', '') AS INT) > 0",
        "SELECT p, x FROM base ORDER BY x",
        "SELECT p, x FROM base QUALIFY row_number() OVER () = 1",
        "SELECT p, x FROM base USING SAMPLE 50%",
        "SELECT p, x FROM base TABLESAMPLE 50%",
        "SELECT a.p, b.x FROM base AS a, base AS b",
        "SELECT p, x FROM base UNION ALL SELECT p, x FROM base",
        "WITH w AS (SELECT * FROM base) SELECT p, x FROM w",
        "SELECT * REPLACE (x + 1 AS x) FROM base",
        "SELECT p, sum(x) AS x FROM base GROUP BY p",
        "SELECT p, x FROM (SELECT * FROM base)",
        "SELECT i AS p, i AS x FROM range(9) AS r(i)",
        "SELECT p, x FROM (VALUES (1, 2)) AS t(p, x)",
        "SELECT COLUMNS('p|x') FROM base",
        "SELECT p, (SELECT max(x) FROM base) AS x FROM base",
    ],
)
def test_anything_else_is_refused_whatever_the_rows(
    view: str, tmp_path: Path, capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for step in ((), ("CREATE VIEW w AS SELECT * FROM v", "DROP VIEW v", "CREATE VIEW v AS SELECT p, x FROM w")):
            (folder := tmp_path / str(len(step))).mkdir()
            views = [f"CREATE VIEW {'w' if step else 'v'} AS {view}", *step[2:]]
            with pytest.raises(DataError, match="v is a view that does more than to show columns of a table"):
                _check(_database(folder, *views))
    assert (*capsys.readouterr(), caplog.text) == ("", "", "")


def test_a_file_that_a_view_reads_is_no_table(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS p, 2 AS x) TO '{tmp_path}/r.parquet'")
    with pytest.raises(DataError, match="v is a view"):
        _check(_database(tmp_path, f"CREATE VIEW v AS SELECT * FROM '{tmp_path}/r.parquet'"))
