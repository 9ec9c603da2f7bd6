"""k, l and t by their definitions, in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any


def classes_of(rows: list[dict[str, Any]], quasi: list[str]) -> list[list[dict[str, Any]]]:
    grouped: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[name] for name in quasi)].append(row)
    return list(grouped.values())


def spread_of(rows: list[dict[str, Any]], quasi: list[str], sensitive: str) -> tuple[int, float, float, float, float]:
    classes = classes_of(rows, quasi)
    values = sorted({row[sensitive] for row in rows})
    table = {value: sum(row[sensitive] == value for row in rows) / len(rows) for value in values}
    distinct, entropy, recursive, equal, ordered = math.inf, math.inf, 0.0, 0.0, 0.0
    for each in classes:
        counts = Counter(row[sensitive] for row in each)
        shares = {value: counts[value] / len(each) for value in values}
        distinct = min(distinct, len(counts))
        entropy = min(entropy, math.exp(-sum(s * math.log(s) for s in shares.values() if s)))
        most = max(counts.values())
        recursive = max(recursive, most / (len(each) - most) if len(each) > most else math.inf)
        equal = max(equal, sum(abs(shares[value] - table[value]) for value in values) / 2)
        far, moved = 0.0, 0.0
        for value in values:
            moved += shares[value] - table[value]
            far += abs(moved)
        ordered = max(ordered, far / max(len(values) - 1, 1))
    return int(distinct), entropy, recursive, equal, ordered


def penalty_of(rows: list[dict[str, Any]], given: list[dict[str, Any]], quasi: list[str]) -> float:
    """The normalised certainty penalty of rows whose cells stand for the values that their class has in `given`."""
    classes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        classes[tuple(row[name] for name in quasi)].append(i)
    lost = 0.0
    for name in quasi:
        column = [row[name] for row in given]
        for members in classes.values():
            values = {given[i][name] for i in members}
            if isinstance(column[0], str):
                lost += len(members) * (len(values) - 1) / max(len(set(column)) - 1, 1)
            else:
                lost += len(members) * (max(values) - min(values)) / ((max(column) - min(column)) or 1)
    return lost / len(rows) / len(quasi)
