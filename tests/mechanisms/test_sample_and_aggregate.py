"""Sample and aggregate: one person moves one answer, whatever the function does with it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import SampleAndAggregate
from discreet.mechanisms.numeric._chunks import assignment, cut, draws, frame, persons
from discreet.mechanisms.statistics._isolated import check_function
from discreet.privacy import PureLoss, approx, mu, pure, rho

sys.path.insert(0, str(Path(__file__).parent))  # so that fresh processes find it too
import chunk_functions as functions


def over(function, **changes) -> SampleAndAggregate:
    return SampleAndAggregate(function, **({"chunks": 4, "bounds": (0, 1), "spend": pure(1)} | changes))


def before_noise(mechanism: SampleAndAggregate, data, drawn) -> list[int]:
    rows = frame(data)
    return mechanism._before_noise(rows, persons(rows, mechanism.unit), check_function(mechanism.function), drawn)


def without(drawn, row: int):
    return tuple(np.delete(words, row) for words in drawn)


@pytest.mark.parametrize(
    "function",
    [functions.alternating, *(pytest.param(f, marks=pytest.mark.soak) for f in (functions.first, functions.mean))],
)
def test_one_row_moves_one_answer(function) -> None:
    """Neighbours with the same draws for the rows they share. The function is sensitive to the order of rows."""
    mechanism = over(function)
    x = np.array([0.1, 0.9, 0.4, 0.8, 0.2, 0.7, 0.3, 0.6, 0.5, 1.0])
    drawn = draws(len(x), len(x))
    whole = before_noise(mechanism, x, drawn)
    for row in (0, 4, 9):
        removed = before_noise(mechanism, np.delete(x, row), without(drawn, row))
        changed = before_noise(mechanism, np.where(np.arange(len(x)) == row, 0.0, x), drawn)
        for other in (removed, changed):
            assert sum(a != b for a, b in zip(whole, other, strict=True)) <= 1
            assert abs(sum(whole) - sum(other)) <= 2**30  # (upper - lower)/chunks in the mean


def test_assignment_does_not_see_where_rows_are() -> None:
    """Rows in another order, with their draws, make the same chunks in the same order."""
    drawn = draws(500, 500)
    turned = np.argsort(np.sin(np.arange(500)))
    data = np.arange(500)
    straight = [data[each].tolist() for each in assignment(np.arange(500), 7, drawn)]
    other = [
        data[turned][each].tolist() for each in assignment(np.arange(500), 7, tuple(words[turned] for words in drawn))
    ]
    assert straight == other
    assert sorted(chain.from_iterable(straight)) == list(range(500))


def test_assignment_is_uniform_and_independent() -> None:
    """Sizes are binomial, and order is random: each figure is off by 7 standard deviations with probability < 3e-12."""
    chosen = assignment(np.arange(100_000), 10, draws(100_000, 100_000))
    assert max(abs(len(each) - 10_000) for each in chosen) < 7 * math.sqrt(9000)
    rising = sum(int((np.diff(each) > 0).sum()) for each in chosen)
    assert abs(rising - 50_000) < 7 * math.sqrt(100_000 / 12) + 10


def test_chunks_are_exactly_as_many_as_stated() -> None:
    for rows, chunks in [(0, 5), (3, 5), (5427, 6000), (10, 1)]:
        chosen = assignment(np.arange(rows), chunks, draws(rows, rows))
        assert len(chosen) == chunks
        assert sum(map(len, chosen)) == rows


@pytest.mark.parametrize("kind", ["numpy", "matrix", "arrow", "pandas"])
def test_all_rows_of_a_person_share_a_chunk(kind: str) -> None:
    who, x = np.repeat(np.arange(40), 5)[np.argsort(np.sin(np.arange(200)))], np.linspace(0, 1, 200)
    unit: str | int = 0 if kind == "matrix" else "who"
    table = {
        "numpy": lambda: np.array(list(zip(who, x, strict=True)), dtype=[("who", "i8"), ("x", "f8")]),
        "matrix": lambda: np.column_stack([who, x]),
        "arrow": lambda: pa.table({"who": who, "x": x}),
        "pandas": lambda: pd.DataFrame({"who": who, "x": x}),
    }[kind]()
    rows = frame(table)
    person = persons(rows, unit)
    assert person.max() == 39
    chunks = [cut(rows, each) for each in assignment(person, 6, draws(200, 40))]
    seen = [set(np.asarray(c[:, 0] if kind == "matrix" else c["who"]).tolist()) for c in chunks if c is not None]
    assert sum(map(len, seen)) == 40
    assert sum(len(c) for c in chunks if c is not None) == 200


def test_one_person_moves_one_answer() -> None:
    mechanism = over(functions.share_of_column, unit="who")
    who, x = np.repeat([3, 5, 8, 9, 11], 4), np.linspace(0, 1, 20)
    table = pa.table({"who": who, "x": x})
    drawn = draws(20, 5)
    whole = before_noise(mechanism, table, drawn)
    for i, gone in enumerate([3, 5, 8, 9, 11]):
        kept = who != gone
        less = before_noise(
            mechanism, table.filter(pa.array(kept)), (np.delete(drawn[0], i), drawn[1][kept], drawn[2][kept])
        )
        assert sum(a != b for a, b in zip(whole, less, strict=True)) <= 1


def test_rows_without_a_person_share_one() -> None:
    for column in (
        pa.table({"who": [1, None, 2, None]}),
        pd.DataFrame({"who": [1.0, np.nan, 2.0, np.nan]}),
        pd.DataFrame({"who": pd.array(["a", pd.NA, "b", pd.NA], dtype="string")}),
        pd.DataFrame({"who": ["a", None, "b", [1]]}),
        np.array([(1.0,), (np.nan,), (2.0,), (np.nan,)], dtype=[("who", "f8")]),
    ):
        first, second, third, fourth = persons(frame(column), "who").tolist()
        assert second == fourth
        assert len({first, second, third}) == 3


def test_whatever_a_chunk_does_it_counts_as_the_midpoint(capfd) -> None:
    mechanism = over(functions.misbehave, chunks=8, cpu_seconds=1)
    x = np.arange(8.0)
    drawn = (np.arange(8, dtype=np.uint64), *draws(8, 8)[1:])
    half, one = 2**29, 2**30
    assert before_noise(mechanism, x, drawn) == [half] * 7 + [one]
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""


def test_no_chunk_sees_another() -> None:
    """A fresh process each: what a call leaves behind is not there for the next. An empty chunk is not called."""
    mechanism = over(functions.remembers, chunks=5, bounds=(0, 10))
    drawn = (np.array([0, 0, 1, 2, 3], dtype=np.uint64), *draws(5, 5)[1:])
    assert before_noise(mechanism, np.ones(5), drawn) == [round(2**30 / 10)] * 4 + [2**29]
    assert functions.CALLS == []


def test_rows_that_cannot_be_sent_count_as_the_midpoint() -> None:
    data = np.array([lambda: 0, 0.25], dtype=object)
    drawn = (np.arange(2, dtype=np.uint64), *draws(2, 2)[1:])
    assert before_noise(over(functions.mean, chunks=2), data, drawn) == [2**29, 2**28]


@pytest.mark.parametrize(("function", "answer"), [(functions.huge, 2**30), (functions.slow, 0)])
def test_one_number_comes_back(function, answer) -> None:
    found = before_noise(over(function, chunks=2), np.ones(2), (np.arange(2, dtype=np.uint64), *draws(2, 2)[1:]))
    assert found == [answer] * 2


def test_nothing_tells_of_rows_elsewhere() -> None:
    tables = [
        pd.DataFrame({"x": pd.Categorical(list("abcd")), "y": range(4)}, index=[5, 6, 7, 9]),
        pa.Table.from_pandas(pd.DataFrame({"x": pd.Categorical(list("abcd"))}, index=[5, 6, 7, 9])),
    ]
    tables[0].attrs = {"rows": 4}
    for table in tables:
        found = before_noise(over(functions.knows_of_other_rows, chunks=2), table, draws(4, 4))
        assert set(found) <= {0, 2**29}
    nested = pa.table({"x": pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))})
    with pytest.raises(ParameterError, match="dictionaries"):
        frame(nested)


@pytest.mark.parametrize(
    ("data", "function"),
    [
        (np.full(400, 0.25), functions.mean),
        (pa.array([0.25] * 400), functions.mean),
        (pd.Series([0.25] * 400), functions.mean),
        (pa.table({"x": [0.25] * 400}), functions.arrow_scalar),
        (pa.record_batch({"x": [0.25] * 400}), functions.share_of_column),
        (pd.DataFrame({"x": [0.25] * 400}), functions.share_of_column),
    ],
)
def test_release_of_every_kind_of_data(data, function) -> None:
    """No chunk of 400 rows is empty but with probability 10 · 0.9**400 < 1e-17; the noise then is 1e-3 or less."""
    found = over(function, chunks=10, spend=pure(10_000)).release(data)
    assert found == pytest.approx(0.25, abs=1e-3)  # beyond it with probability e**-100


@pytest.mark.parametrize("aggregator", ["mean", "median"])
def test_spends(aggregator) -> None:
    for spend, less in ((pure(1), pure("0.99")), (rho("0.125"), rho("0.124"))):
        mechanism = over(functions.slow, spend=spend, aggregator=aggregator, chunks=3)
        assert mechanism.loss().fits(spend)
        assert not mechanism.loss().fits(less)
        assert math.isfinite(mechanism.release(np.ones(3)))
    assert over(functions.mean, spend=approx(1, 1e-6)).loss() == PureLoss(Fraction(1))
    assert over(functions.mean, spend=mu(1)).loss() == mu(1)
    assert over(functions.mean, spend=approx(1, 1e-6), aggregator="median").loss() == approx(1, 1e-6)


def test_median_of_chunks() -> None:
    mechanism = over(functions.mean, chunks=41, spend=approx(50, 1e-2), aggregator="median")
    assert mechanism.release(np.full(4000, 0.25)) == pytest.approx(0.25, abs=0.05)


def test_a_rehearsal_is_the_release_without_its_processes() -> None:
    """The noise is below 1e-3 with probability 1 − 1e-30; chunks without answer count as midpoints.

    At ε = 1e6 the mean's scale is 3e-6. At ε = 100 the median's is below e**−40, and Student's tails fall as z**−3.
    """
    sure = {"bounds": (0, 10), "spend": pure(10**6)}
    for aggregator, epsilon in (("mean", 10**6), ("median", 100)):
        sure["spend"] = pure(epsilon)
        for function, truth in (
            (lambda _: 3, 3),
            (lambda _: 1 / 0, 5),
            (lambda _: sys.exit(), 5),
            (lambda _: math.inf, 10),
        ):
            mechanism = SampleAndAggregate(function, chunks=4, aggregator=aggregator, **sure)
            assert abs(mechanism.rehearse(np.arange(100)) - truth) < 1e-3
    nothing = SampleAndAggregate(np.mean, chunks=4, bounds=(0, 10), spend=pure(10**6)).rehearse(np.arange(0))
    assert abs(nothing - 5) < 1e-3


def test_functions_that_cannot_be_loaded_are_refused() -> None:
    def inner(chunk) -> float:
        return 0.0

    for function in (lambda _: 0.0, inner):
        with pytest.raises(ParameterError, match="top of a module"):
            over(function).release(np.ones(3))


@pytest.mark.parametrize("data", [[1, 2], 3, None, "x", np.float64(1), np.array(1.0), {"x": [1]}, pa.scalar(1)])
def test_other_data_are_refused(data) -> None:
    with pytest.raises(ParameterError, match="data must be"):
        over(functions.mean).release(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chunks": 0}, "chunks"),
        ({"chunks": True}, "chunks"),
        ({"chunks": 2.0}, "chunks"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"bounds": (0, math.inf)}, "bounds"),
        ({"aggregator": "mode"}, "aggregator"),
        ({"cpu_seconds": 0}, "cpu_seconds"),
        ({"cpu_seconds": math.nan}, "cpu_seconds"),
        ({"spend": mu(1), "aggregator": "median"}, "mu"),
        ({"spend": pure("1e-20")}, "scale"),
    ],
)
def test_bad_arguments_are_refused(change, message) -> None:
    with pytest.raises(ParameterError, match=message):
        over(functions.mean, **change)
    with pytest.raises(ParameterError, match="callable"):
        over("mean")


@pytest.mark.parametrize("unit", ["nobody", 7, True])
def test_units_that_are_no_column_are_refused(unit) -> None:
    for data in (np.ones((3, 2)), np.ones(3), pa.table({"x": [1]}), pd.DataFrame({"x": [1]}), pa.array([1])):
        with pytest.raises(ParameterError, match="unit"):
            over(functions.mean, unit=unit).release(data)


def test_what_a_mask_hides_is_not_seen() -> None:
    masked = np.ma.array([1.0, 999.0, 1.0], mask=[False, True, False])
    assert np.array_equal(frame(masked), [1.0, math.nan, 1.0], equal_nan=True)
    assert frame(masked.astype(int)).tolist() == [1, None, 1]
