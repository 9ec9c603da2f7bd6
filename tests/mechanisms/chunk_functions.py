"""Functions that fresh processes load by name: well-behaved, order-sensitive, and misbehaving ones."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

CALLS = []


def mean(chunk) -> float:
    return float(np.mean(chunk))


def first(chunk) -> float:
    return float(chunk[0])


def alternating(chunk) -> float:
    """As sensitive to order as can be: it turns over when rows before the last shift by one."""
    return float(np.sum(np.where(np.arange(len(chunk)) % 2 == 0, chunk, -chunk))) * 100


def share_of_column(chunk) -> float:
    column = chunk["x"]
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    return float(np.mean(values))


def arrow_scalar(chunk):
    import pyarrow.compute as pc

    return pc.mean(chunk["x"])


def misbehave(chunk) -> float:
    kind = int(chunk[0])
    print("seen", chunk)
    print("seen", chunk, file=sys.stderr)
    match kind:
        case 0:
            raise ValueError(str(chunk))
        case 1:
            os._exit(3)
        case 2:
            while True:
                pass
        case 3:
            return float("nan")
        case 4:
            return "0.9"  # type: ignore[return-value]
        case 5:
            sys.exit("seen")
        case 6:
            os.abort()
        case _:
            return 1.0


def remembers(chunk) -> float:
    CALLS.append(1)
    return float(len(CALLS))


def huge(chunk) -> int:
    return 10**400


def slow(chunk) -> float:
    time.sleep(0.01)
    return 0.0


def knows_of_other_rows(chunk) -> float:
    """1 if categories, an index or metadata tell of rows that are not there."""
    if hasattr(chunk, "schema"):
        return float(bool(chunk.schema.metadata) or "dictionary" in str(chunk.schema))
    return float(
        str(chunk["x"].dtype) == "category" or list(chunk.index) != list(range(len(chunk))) or bool(chunk.attrs)
    )
