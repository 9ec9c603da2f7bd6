"""A publication as a folder: Parquet for every table and level, the noisy counts, and a code book."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import DataError, ParameterError

__all__ = ["CONTENT", "write_folder"]

CONTENT = "publication.json"


def write_folder(folder: Path, tables: Iterable[tuple[str, pa.Table]], code_book: str, content: bytes) -> None:
    """Write a publication to a new folder. Raises `ParameterError` if it is there, `DataError` if it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=False)
        for name, table in tables:
            pq.write_table(table, folder / f"{name}.parquet")
        (folder / "codebook.md").write_text(code_book, encoding="utf-8")
        (folder / CONTENT).write_bytes(content)
    except FileExistsError:
        raise ParameterError(f"{folder} is there already; name a new folder") from None
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}") from None
