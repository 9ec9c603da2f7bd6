"""A publication as files: a folder of tables, and whole numbers as JSON, the fewest bytes each and compressed."""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.errors import DataError, ParameterError

__all__ = ["CONTENT", "integers_from_json", "integers_to_json", "joined", "listed", "write_folder"]

CONTENT = "publication.json"
_WIDTHS = ("<i1", "<i2", "<i4", "<i8")
_MOST_BYTES = 2**32
_MOST_DIMENSIONS = 2
_UNLIKE = ("unbiased", "lower", "upper")
"""Columns of numbers that are hardly ever repeated."""


Pieces = Iterator[pa.Table]
"""A table, some rows at a time: one is there at least."""


def write_folder(folder: Path, tables: Iterable[tuple[str, Pieces]], code_book: str, content: bytes) -> None:
    """Write a publication to a new folder. Raises `ParameterError` if it is there, `DataError` if it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=False)
        for name, pieces in tables:
            _write(folder / f"{name}.parquet", pieces)
        (folder / "codebook.md").write_text(code_book, encoding="utf-8")
        (folder / CONTENT).write_bytes(content)
    except FileExistsError:
        raise ParameterError(f"{folder} is there already; name a new folder") from None
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}") from None


def _write(path: Path, pieces: Pieces) -> None:
    """Write pieces as one file. It is read as plain texts and numbers, whatever lists of them the pieces have."""
    first = next(pieces)
    repeated = [name for name in first.column_names if name not in _UNLIKE]
    with pq.ParquetWriter(path, first.schema, use_dictionary=repeated, store_schema=False) as writer:  # pyright: ignore[reportArgumentType] - a list of columns
        for piece in itertools.chain([first], pieces):
            writer.write_table(piece)


def listed(texts: Sequence[str], places: NDArray[np.int64]) -> pa.Array[Any]:
    """Texts at places in a list, each kept once: of few texts that are repeated often a hundredth of the memory.

    >>> listed(["F", "M", "F"], np.array([0, 1, 2, 0])).to_pylist()
    ['F', 'M', 'F', 'F']
    """
    each = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    at = places if len(each) == len(texts) else np.array([each[text] for text in texts], np.int64)[places]
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), pa.array(list(each), pa.string()))


def joined(pieces: Pieces) -> pa.Table:
    """All pieces as one table of plain texts and numbers."""
    table = pa.concat_tables(pieces)
    plain = [
        pa.field(each.name, each.type.value_type if isinstance(each.type, pa.DictionaryType) else each.type)
        for each in table.schema
    ]
    return table.cast(pa.schema(plain))


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
