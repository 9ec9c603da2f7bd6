"""Keep pyarrow from importing pandas, which would double the time that a short command takes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.abc import MetaPathFinder

__all__ = ["spare_pandas"]


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def spare_pandas(data: Iterable[str]) -> None:
    """Let pyarrow take pandas for missing, if all sources are files or databases of DuckDB.

    For the first Python value that pyarrow converts, it imports pandas where it is installed, to know frames when it
    sees them. There are none on this way. Whoever imports pandas later still gets it.
    """
    if any("://" in source for source in data) or "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)
