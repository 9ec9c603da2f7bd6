"""A publication as files: a folder of tables, and whole numbers as JSON, the fewest bytes each and compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.errors import DataError, ParameterError

__all__ = ["CONTENT", "integers_from_json", "integers_to_json", "write_folder"]

CONTENT = "publication.json"
_WIDTHS = ("<i1", "<i2", "<i4", "<i8")
_MOST_BYTES = 2**32
_MOST_DIMENSIONS = 2


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


def integers_to_json(array: NDArray[np.int64]) -> dict[str, Any]:
    """An array of areas by cells as plain JSON.

    >>> integers_from_json(integers_to_json(np.array([[1, -300]])))
    array([[   1, -300]])
    """
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    width = next(each for each in _WIDTHS if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    packed = zlib.compress(np.ascontiguousarray(array, width).tobytes(), 1)
    return {"shape": list(array.shape), "width": width, "data": base64.b64encode(packed).decode()}


def integers_from_json(data: Mapping[str, Any]) -> NDArray[np.int64]:
    """The inverse of `integers_to_json`. Raises `ValueError` or `zlib.error` for what is none."""
    shape, width = data["shape"], data["width"]
    if (
        width not in _WIDTHS
        or len(shape) != _MOST_DIMENSIONS
        or any(type(each) is not int or each < 0 for each in shape)
    ):
        raise ValueError
    size = shape[0] * shape[1] * int(width[2])
    if size > _MOST_BYTES:
        raise ValueError
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.b64decode(data["data"], validate=True), size + 1)
    except zlib.error:
        raise ValueError from None
    if len(raw) != size or not unpacking.eof:
        raise ValueError
    return np.frombuffer(raw, width).reshape(shape).astype(np.int64)
