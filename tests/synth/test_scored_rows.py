"""Rows by a score: the engine adds up public points of the cells of each row, and counts ranges of the sum."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines._open import open_engine
from discreet.errors import ParameterError
from discreet.marginals import column_cells
from discreet.policy import load_policy
from discreet.query import Marginals, coded_rows, scored_rows

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "age": {"type": "int", "bounds": [0, 60]},
    "far": {"type": "int", "keys": [-(2**62), 3, 2**62]},
    "site": {"type": "string", "keys": ["a", "b'\"", "ä", "c"]},
    "ok": {"type": "bool"},
    "day": {"type": "date", "keys": ["2020-01-01", "2020-02-29"], "nullable": False},
    "at": {"type": "timestamp", "bounds": ["2020-01-01 00:00:00", "2020-01-02 00:00:00"]},
    "x": {"type": "float", "bounds": [-1, 1], "nullable": False},
}
MIDNIGHT = dt.datetime(2020, 1, 1)  # noqa: DTZ001
TYPES = [pa.int64(), pa.int64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.float64()]


@pytest.mark.parametrize("unit", ["rows", "person"])
@pytest.mark.parametrize("seed", range(4))
def test_ranges_of_scores_are_those_of_plain_sums(unit: str, seed: int) -> None:
    dice = random.Random(f"{unit} {seed}")
    caps = {"unit": "rows"} if unit == "rows" else {"unit": "person", "max_rows": 1_000}
    policy = load_policy({"version": "1", "tables": {"t": {**caps, "columns": COLUMNS}}})
    cells = [column_cells("t", name, column) for name, column in policy.tables["t"].columns.items()]
    rows = [
        (
            dice.choice([0, 7, 60, None]),
            dice.choice([-(2**62), 3, 2**62, None]),
            dice.choice(["a", "b'\"", "ä", "c", None]),
            dice.choice([True, False, None]),
            dice.choice([dt.date(2020, 1, 1), dt.date(2020, 2, 29)]),
            dice.choice([MIDNIGHT, MIDNIGHT + dt.timedelta(hours=5), None]),
            dice.choice([-1.0, 0.0, 0.31]),
        )
        for _ in range(200)
    ]
    most = dice.choice([3, 2**40])
    weights = [
        None if i == 1 else [dice.randint(-most, most) for _ in range(each.size)] for i, each in enumerate(cells)
    ]
    places = [[each.cell(value) for each, value in zip(cells, row, strict=True)] for row in rows]
    scores = [sum(w[c] for w, c in zip(weights, row, strict=True) if w is not None) for row in places]  # type: ignore[index]
    ends = sorted({*dice.sample(scores, 5), dice.randint(-most, most)})
    expected = Counter((row[3], sum(end <= score for end in ends)) for row, score in zip(places, scores, strict=True))
    table = {name: pa.array([row[i] for row in rows], TYPES[i]) for i, name in enumerate(COLUMNS)}
    table["person"] = pa.array([dice.randrange(9) for _ in rows])
    bounded = scored_rows(coded_rows(policy, "t", {each.name: each.coded for each in cells}), weights, ends)
    engine = open_engine({"t": pa.table(table)}, policy)
    counts, total = engine.count_marginals(Marginals(bounded, ((3, len(cells)), ())), b"sixteen bytes of")
    engine.close()
    assert int(total) == 200
    assert {place: count for place, count in np.ndenumerate(counts) if count} == expected


def test_weights_and_ends_that_do_not_fit_are_refused() -> None:
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"ok": {"type": "bool"}}}}})
    bounded = coded_rows(policy, "t", {"ok": (False, True, None)})
    for weights, ends in (
        ([], [0]), ([[1, 2]], [0]), ([[1, 2, 3]], [0, 0]), ([[1, 2, 3]], [1, 0]), ([[1, 2, 2**41]], [0]),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            scored_rows(bounded, weights, ends)
