"""A file of Spark's Java classes as Java holds them in memory: half the start of a session is reading them from jars.

Java writes such an archive when it ends (class data sharing, JEP 350), and maps it into the next that is started with
the same Java and jars; with others it says nothing and reads the jars. What is mapped is run, so that an archive counts
only where nobody but this user can write. It is made by a session over a made-up table: no data of a user is near it.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.engines.spark._java import java
from discreet.errors import DataError

__all__ = ["QUIET", "archive", "fresh", "keep"]

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
    about = "\n".join([os.path.realpath(java() or "java"), os.path.realpath(spark), pyspark.__version__])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "discreet"  # noqa: PTH111
    path = folder / f"spark-{hashlib.sha256(about.encode()).hexdigest()[:16]}.jsa"
    return path if path.is_absolute() and _PLAIN.fullmatch(str(path)) and hasattr(os, "getuid") else None


def _is_own(path: Path) -> bool:
    """Whether nobody else but the superuser can change it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & 0o022
