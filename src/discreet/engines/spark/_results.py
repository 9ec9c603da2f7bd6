"""What Spark returns, as groups."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.spark._java import java
from discreet.engines.sql import read_groups
from discreet.errors import DataError
from discreet.policy import ColumnType, Key
from discreet.query import BoundedAggregate, Group

__all__ = ["QUIET", "archive", "fresh", "groups_of", "keep", "values_of"]


_FIRST_DAY = dt.date(1970, 1, 1)
_FIRST_MOMENT = dt.datetime(1970, 1, 1)  # noqa: DTZ001
_ARROW = {
    "bool": pa.bool_(), "int": pa.int64(), "string": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip


def groups_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[Group]:
    """The groups of a query that `bounded_sql` wrote."""
    width = len(request.keys)
    types: list[ColumnType] = [key.type for key in request.keys]
    keys = [tuple(_key(value, kind) for value, kind in zip(row, types, strict=False)) for row in rows]
    if not request.histograms:
        return [
            Group(key, int(row[width]), tuple(map(int, row[width + 1 :]))) for key, row in zip(keys, rows, strict=True)
        ]
    columns: dict[str, pa.Array[Any]] = {
        f"k{i}": pa.array([key[i] for key in keys], _ARROW[kind]) for i, kind in enumerate(types)
    }
    for i, name in enumerate(("h", "cell", "n")):
        columns[name] = pa.array([int(row[width + i]) for row in rows], pa.int64())
    for i in range(len(request.measures)):
        columns[f"t{i}"] = pa.array([str(row[width + 3 + i]) for row in rows], pa.string())
    return read_groups(pa.table(columns), request)


def values_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[tuple[Any, ...]]:
    """The keys and the value of each row of a query that `values_sql` wrote."""
    types: list[ColumnType] = [key.type for key in request.keys]
    return [(*(_key(value, kind) for value, kind in zip(row, types, strict=False)), row[-1]) for row in rows]


def _key(value: Any, kind: ColumnType) -> Key | None:
    if value is None or kind not in ("date", "timestamp"):
        return value
    return _FIRST_DAY + dt.timedelta(value) if kind == "date" else _FIRST_MOMENT + dt.timedelta(microseconds=value)


QUIET = "-Xlog:cds*=off -Xlog:class+path=off"
"""Java warns of each class that an archive cannot hold, and of archives that do not fit."""
_PLAIN = re.compile(r"[\w./@+~-]+", re.ASCII)
_WAIT_SECONDS = 120


def archive() -> Path | None:
    """The archive for this user, Java and Spark if there is one that can be trusted."""
    path = _path()
    return path if path is not None and path.is_file() and _is_own(path) and _is_own(path.parent) else None


def fresh() -> Path:
    """A path for Java to write an archive to, where nobody else can. Raises `DataError` if there can be none."""
    path = _path()
    if path is None:
        raise DataError(
            "an archive needs pyspark, and a cache folder whose name Java's options can hold; set XDG_CACHE_HOME"
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise DataError(f"{path.parent} cannot be made; set XDG_CACHE_HOME to a folder that can be written") from None
    if not _is_own(path.parent):
        raise DataError(f"others can write to {path.parent}: what is there would be run; chmod 700 it")
    return Path(tempfile.mkdtemp(dir=path.parent)) / path.name


def keep(written: Path) -> Path:
    """Stop the JVM of this process, which writes its archive then, and put that in its place; returns where."""
    from pyspark import SparkContext

    context: Any = SparkContext
    process, path = context._gateway.proc, _path()  # noqa: SLF001
    process.stdin.close()
    with suppress(Exception):
        process.wait(timeout=_WAIT_SECONDS)
    done = path is not None and process.returncode is not None and written.is_file()
    if path is not None and done:
        written.replace(path)
    if path is None or not done:
        raise DataError("Java wrote no archive; it needs OpenJDK 17 or newer and 200 MB of disk")
    return path


def _path() -> Path | None:
    """Where the archive of this Java and Spark lies; Java itself checks its version, and the jars' sizes and dates."""
    try:
        import pyspark
    except ImportError:
        return None
    spark = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    identity = "\n".join([os.path.realpath(java() or "java"), os.path.realpath(spark), pyspark.__version__])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "discreet"  # noqa: PTH111
    path = folder / f"spark-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"
    return path if path.is_absolute() and _PLAIN.fullmatch(str(path)) and hasattr(os, "getuid") else None


def _is_own(path: Path) -> bool:
    """Whether nobody else but the superuser can change it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not status.st_mode & 0o022
