"""Sources that hand over their rows themselves: the Arrow PyCapsule interface, and the interchange protocol."""

from __future__ import annotations

import warnings

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.interchange as pi

from discreet.errors import DataError

__all__ = ["exported", "is_lazy"]


def is_lazy(source: object) -> bool:
    """Whether a source is a query that is yet to run: a lazy frame, or a relation of a database."""
    try:
        return isinstance(nw.from_native(source, pass_through=True), nw.LazyFrame)  # pyright: ignore[reportArgumentType]
    except Exception:  # noqa: BLE001 - an object of the caller's may raise anything
        return False


def exported(table: str, source: object) -> pa.Table | None:
    """The rows of an object with ``__arrow_c_stream__`` or ``__dataframe__``; None if it has neither.

    A stream is read once, and whole. Raises `DataError` if that fails, without a word of what the object said.
    """
    try:
        if hasattr(source, "__arrow_c_stream__"):
            with pa.RecordBatchReader.from_stream(source) as reader:  # pyright: ignore[reportArgumentType]
                return reader.read_all()
        if hasattr(source, "__dataframe__"):
            with warnings.catch_warnings(action="ignore"):  # the protocol is old, and libraries say so
                return pi.from_dataframe(source)  # pyright: ignore[reportAttributeAccessIssue]
    except Exception:  # noqa: BLE001 - what it says may be of a row
        raise DataError(
            f"{table}: the {type(source).__name__} does not hand over its rows as a table; give an Arrow table"
        ) from None
    return None
