"""The archive of Spark's classes, made by a session that asks a made-up table what people ask."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from discreet.engines.spark._engine import Spark
from discreet.engines.spark._java import provide_java
from discreet.engines.spark._results import fresh, keep
from discreet.engines.spark._url import is_running, session_of
from discreet.errors import DataError
from discreet.policy import load_policy
from discreet.privacy import approx
from discreet.query import make_plan

__all__ = ["make_archive"]

_QUERIES = (
    "SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM {} GROUP BY region",
    "SELECT word, COUNT(DISTINCT person) AS n FROM {} GROUP BY word",
    "SELECT MEDIAN(amount) AS m FROM {}",
)
_POLICY = {
    "unit": "person",
    "max_rows": 10,
    "max_groups": 2,
    "columns": {
        "region": {"type": "string", "keys": ["a", "b", "c"]},
        "word": {"type": "string"},
        "amount": {"type": "float", "bounds": [0, 100]},
    },
}


def make_archive() -> Path:
    """Make the archive that sessions of `spark://local` start from, in `$XDG_CACHE_HOME` or `~/.cache`: some 180 MB.

    It takes about a minute, and this process cannot start Spark again afterwards: run
    `python -m discreet.engines.spark` once on a machine, and again after an upgrade of Java or Spark. Sessions work
    without an archive as well; they take longer to start.

    Raises `DataError` if this process runs Spark, or Java writes no archive.
    """
    if is_running():
        raise DataError(
            "this process runs Spark already; make the archive in one of its own: python -m discreet.engines.spark"
        )
    provide_java()
    written = fresh()
    try:
        _rehearse(written)
        return keep(written)
    finally:
        shutil.rmtree(written.parent, ignore_errors=True)


def _rehearse(written: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        parquet, text = _tables(Path(folder))
        session = session_of(f"spark://local?parquet={parquet}&text={text}", archived=written)
        policy = load_policy({"version": "1", "tables": {"parquet": _POLICY, "text": _POLICY}})
        engine = Spark(session, policy)
        for query in _QUERIES:
            for table in ("parquet", "text"):
                engine.run(make_plan(query.format(table), policy, approx(1, 1e-6)).levels[0].bounded, bytes(16))
        engine.close()
        session.stop()


def _tables(folder: Path) -> tuple[Path, Path]:
    rows = range(1000)
    table = pa.table(
        {
            "person": [i // 10 for i in rows],
            "region": ["abc"[i % 3] for i in rows],
            "word": [f"word {i % 7}" for i in rows],
            "amount": [i / 10 for i in rows],
        }
    )
    parquet, text = folder / "rows.parquet", folder / "rows.csv"
    pyarrow.parquet.write_table(table, parquet)
    pyarrow.csv.write_csv(table, text)
    return parquet, text
