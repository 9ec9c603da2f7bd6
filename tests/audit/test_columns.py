"""Outputs of any kind are taken apart, and what is read of one output never depends on the others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.black_box._columns import Columns, leaves, reader_for
from discreet.audit.black_box._features import features_of

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.fractions(), st.binary(max_size=9)
)
plain = st.one_of(
    st.integers(),
    st.floats(),
    st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    st.lists(st.floats(), min_size=2, max_size=2),
    st.lists(st.booleans(), min_size=1, max_size=3).map(tuple),
    st.lists(st.integers(-3, 3), min_size=2, max_size=2).map(np.array),
)
outputs = st.lists(
    st.one_of(
        scalars,
        plain,
        st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner)),
    ),
    min_size=1,
    max_size=8,
)


def same(one: Columns, other: Columns, row: int) -> bool:
    """Whether the only row of one is that row of the other."""
    names = one.numbers.keys() | other.numbers.keys()
    numbers = all(
        np.array_equal(one.number(name)[:1], other.number(name)[row : row + 1], equal_nan=True) for name in names
    )
    kinds = all(one.kind(name)[0] == other.kind(name)[row] for name in one.kinds.keys() | other.kinds.keys())
    return numbers and kinds and list(one.wholes) == list(other.wholes[row : row + 1])


@given(outputs, st.lists(plain, min_size=1, max_size=4) | outputs)
def test_an_output_reads_the_same_in_any_company(read: list[Any], learned: list[Any]) -> None:
    reader = reader_for(learned)
    together = reader.read(read)
    assert together.size == len(read)
    assert all(same(reader.read([output]), together, row) for row, output in enumerate(read))


@given(outputs)
def test_whatever_was_learned_from_can_be_read(read: list[Any]) -> None:
    columns = reader_for(read).read(read)
    for feature in features_of(columns, np.arange(columns.size) % 2 == 1):
        assert feature.compute(columns).shape == (len(read),)
        assert feature.compute(reader_for(read).read(read[:1])).shape == (1,)


@dataclass
class Answer:
    value: float
    why: str | None


class Bare:
    def __init__(self) -> None:
        self.told = 3


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (3, {"output": 3}),
        (None, {"output": None}),
        (Fraction(1, 3), {"output": Fraction(1, 3)}),
        (np.array(2.5), {"output": 2.5}),
        (Decimal("1.5"), {"output": Decimal("1.5")}),
        ((1, "a"), {"output type": "tuple", "output[0]": 1, "output[1]": "a", "output length": 2}),
        (
            {"a": [True]},
            {"output keys": "'a'", "output['a'] type": "list", "output['a'][0]": True, "output['a'] length": 1},
        ),
        (2**60 + 5, {"output": 2**60 + 5, "output last binary digits": 5}),
        (b"ab", {"output": b"ab", "output length": 2, "output byte 0": 97, "output byte 1": 98}),
        (2 + 3j, {"output": 2 + 3j, "output.real": 2.0, "output.imag": 3.0}),
        (np.datetime64("2020-01-02"), {"output": date(2020, 1, 2), "output day": date(2020, 1, 2).toordinal()}),
        (timedelta(hours=1), {"output": timedelta(hours=1), "output seconds": 3600.0}),
        (Bare(), {"output type": "Bare", "output keys": "'told'", "output['told']": 3}),
        (
            "count is 2.5 at 0x7f",
            {"output": "count is 2.5 at 0x7f", "output length": 20, "output number 0": 2.5},
        ),
        ({"x", "y"}, {"output has 'x'": 1, "output has 'y'": 1}),
        (Answer(1.5, None), {"output.value": 1.5, "output.why": None}),
        (
            ValueError("no"),
            {"output error": "ValueError", "output error text": "ValueError: no", "output error text length": 14},
        ),
        (
            pa.table({"n": [1, 2]}),
            {
                "output types": "n: int64",
                "output keys": "'n'",
                "output['n'] type": "list",
                "output['n'][0]": 1,
                "output['n'][1]": 2,
                "output['n'] length": 2,
            },
        ),
        (
            pd.DataFrame({"n": [1.5]}),
            {
                "output types": "[dtype('float64')]",
                "output keys": "'n'",
                "output['n'] type": "list",
                "output['n'][0]": 1.5,
                "output['n'] length": 1,
            },
        ),
        (
            pl.DataFrame({"n": ["a"]}),
            {
                "output types": "n: large_string",
                "output keys": "'n'",
                "output['n'] type": "list",
                "output['n'][0]": "a",
                "output['n'] length": 1,
            },
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_kind_of_output_is_taken_apart(output: Any, expected: dict[str, Any]) -> None:
    assert {within + name: value for within, name, value in leaves(output)} == expected


def test_numbers_are_read_quickly_and_slowly_alike() -> None:
    fast = reader_for([1, 2]).read([1, 2, 3])
    assert fast.number("output").tolist() == [1, 2, 3]
    slow = reader_for([1, None]).read([1, None, "2.5", 10**400])
    assert np.array_equal(slow.number("output"), [1, np.nan, 2.5, np.inf], equal_nan=True)
    assert slow.kind("output") == ["int", "None", "2.5", "int"]
    assert reader_for([10**400, 1]).read([-(10**400)]).number("output").tolist() == [-np.inf]


def test_the_lowest_binary_digit() -> None:
    columns = reader_for([0.5, 0.1]).read([0.5, 0.75, 3.0, 0.1, 0.0, 5e-324, -8.0, np.inf])
    (digit,) = [
        feature
        for feature in features_of(columns, np.arange(columns.size) % 2 == 1)
        if feature.name.startswith("lowest")
    ]
    assert np.array_equal(digit.compute(columns), [-1, -2, 0, -55, np.nan, -1074, 3, np.nan], equal_nan=True)


def test_repeated_values_and_differences() -> None:
    rows = [[1, 1, 2], [3, 3, 3], [1, 2, 4]]
    columns = reader_for(rows).read(rows)
    found = {
        feature.name: feature.compute(columns).tolist()
        for feature in features_of(columns, np.arange(columns.size) % 2 == 1)
    }
    assert found["repeated values in output"] == [1, 2, 0]
    assert found["output[1] − output[0]"] == [0, 0, 1]
    assert found["sum of output"] == [4, 9, 7]
    assert found["place of the largest of output"] == [2, 0, 2]
