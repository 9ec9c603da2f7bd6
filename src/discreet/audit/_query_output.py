"""All that an analyst sees of an answer, as plain scalars under stable paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from discreet.query import Release

__all__ = ["Output", "outputs_of", "refusal"]

Label = tuple[Any, ...]
Output = dict[str, Any]
"""What one run shows: an answer as in `outputs_of`, or a refusal as in `refusal`."""


def outputs_of(release: Release, sizes: Sequence[int]) -> list[Output]:
    """A release whose rows belong to runs of so many rows each, as one output for each run.

    The form: ``{"columns": text, "rows": {key: place}, "values": {(column, *key): value}, "slopes": {...}}``.

    - `columns` names the columns, their Arrow types, which carry noise and how their error is made.
    - `rows` says which rows there are and in what order. A row is called by its keys; rows that share them, as all do
      where the keys are not selected, have their occurrence behind, from the second on.
    - `values` has every released number, None for null.
    - `slopes`, by (column, measure, *key), has what the error of a ratio such as AVG is computed from: a release
      carries it, and it shows the noisy counts.
    """
    answer = release.answer
    names = answer.table.column_names
    columns = {name: answer.table.column(name).to_pylist() for name in names}
    keys = [columns[name] for name in names if name not in answer.shapes]
    labels = list(zip(*keys, strict=True)) if keys else [()] * sum(sizes)
    values = {(name,): columns[name] for name in answer.shapes}
    slopes = {
        (name, i): slope.tolist()
        for name, shape in answer.shapes.items()
        if not shape.linear
        for i, slope in shape.slopes.items()
    }
    about, start, outputs = _about(release), 0, list[Output]()
    seen: dict[tuple[Label, ...], _Paths] = {}
    for size in sizes:
        end = start + size
        found = tuple(labels[start:end])
        paths = seen.get(found) or seen.setdefault(found, _Paths.of(found, list(values), list(slopes)))
        output: Output = {"columns": about, "rows": paths.rows, "values": _taken(paths.values, values, start, end)}
        if slopes:
            output["slopes"] = _taken(paths.slopes, slopes, start, end)
        outputs.append(output)
        start = end
    return outputs


def refusal(error: Exception) -> Output:
    """A refusal as its type and text, and the same of what a traceback shows behind it."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    shown: Output = {"refused": type(error).__name__, "says": str(error)}
    return shown | {"behind": refusal(behind)} if isinstance(behind, Exception) else shown


def _about(release: Release) -> str:
    answer = release.answer
    parts: list[str] = []
    for field in answer.table.schema:
        shape = answer.shapes.get(field.name)
        noise = "key" if shape is None else f"noisy, linear {shape.linear}, cap {shape.cap}"
        parts.append(f"{field.name} {field.type} ({noise})")
    return ", ".join(chain(parts, map(repr, answer.noises)))


@dataclass(frozen=True, slots=True)
class _Paths:
    """What runs with the same rows share: all but the numbers."""

    rows: dict[Label, int]
    values: list[Label]
    slopes: list[Label]

    @classmethod
    def of(cls, labels: tuple[Label, ...], values: Sequence[Label], slopes: Sequence[Label]) -> _Paths:
        called = _apart(labels)
        paths = [[(*name, *label) for name in names for label in called] for names in (values, slopes)]
        return cls({label: place for place, label in enumerate(called)}, *paths)


def _taken(paths: Sequence[Label], columns: Mapping[Label, Sequence[Any]], start: int, end: int) -> dict[Label, Any]:
    return dict(zip(paths, chain.from_iterable(column[start:end] for column in columns.values()), strict=True))


def _apart(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if len(set(labels)) == len(labels):
        return labels
    seen: dict[Label, int] = {}
    apart: list[Label] = []
    for label in labels:
        times = seen[label] = seen.get(label, -1) + 1
        apart.append((*label, times) if times else label)
    return tuple(apart)
