"""Lines of a benchmark with what was to be reached; and the complete rows of Adult."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_NAMES = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
]  # fmt: skip


class Goals:
    """Prints each figure beside its goal, and counts those that are missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def line(self, name: str, value: str, goal: str = "", met: bool | None = None) -> None:  # noqa: FBT001
        if met is False:
            self.missed.append(name)
        mark = {None: "  ", True: "ok", False: "NO"}[met]
        print(f"  {name:<54}{value:>20}  {mark}  {goal}".rstrip(), flush=True)

    def close(self) -> int:
        print(f"\n{len(self.missed)} goals missed{': ' + '; '.join(self.missed) if self.missed else ''}")
        return int(bool(self.missed))


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """What it makes, and the CPU seconds that it took."""
    begun = time.process_time()
    return make(), time.process_time() - begun


def complete_adult(folder: Path) -> pa.Table:
    """The 30,162 rows of Adult without a missing value, as the UCI repository has them."""
    path = next(each for each in (folder / "adult.data", folder / "adult_raw.data") if each.exists())
    rows = [line.split(", ") for line in path.read_text(encoding="utf-8").splitlines() if line and "?" not in line]
    columns = dict(zip(_NAMES, zip(*rows, strict=True), strict=True))
    return pa.table(
        {name: list(map(int, values)) if name in NUMBERS else list(values) for name, values in columns.items()}
    )


def as_numbers(table: pa.Table, names: list[str]) -> np.ndarray:
    """Categories as places in alphabetical order."""
    columns = [np.array(table[name].to_pylist()) for name in names]
    return np.stack(
        [each if each.dtype.kind in "if" else np.unique(each, return_inverse=True)[1] for each in columns], 1
    )
