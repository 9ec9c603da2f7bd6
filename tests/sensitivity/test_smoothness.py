"""What holds for every statistic: nested, monotone, smooth and stable as floats, on data of any kind."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity import (
    Count,
    CountDistinct,
    Mean,
    Mode,
    Profile,
    Quantile,
    Slope,
    at_distance,
    clamped,
    distance,
    local,
    smooth,
    statistic,
)

RELATIONS = ["add_remove", "substitute"]
NAMES = ["mean", "sum", "variance", "median", "min", "max", "count", "count_distinct", Quantile(0.3), Quantile(0.8)]

values = st.one_of(
    st.floats(0.1, 0.7), st.sampled_from([0.1, 0.7, 0.3]), st.floats(0.1, 0.7).map(lambda each: round(each, 1))
)
betas = st.floats(1e-6, 3)


def pairs(data, relation, fresh):
    """Every way to add `fresh`, to remove a value, or to put `fresh` for one."""
    if relation == "add_remove":
        return [[*data, fresh], *(data[:i] + data[i + 1 :] for i in range(len(data)))]
    return [[*data[:i], fresh, *data[i + 1 :]] for i in range(len(data))]


def check(name, x, relation, others, beta, bounds) -> None:
    given = {"bounds": bounds, "relation": relation}
    profile = statistic(name).profile(x, bounds, relation)
    here = [at_distance(name, x, k, **given) for k in range(profile.last + 3)]
    smoothed = smooth(name, x, beta, **given)
    assert here == sorted(here)
    assert here[-1] == here[profile.last]
    assert smoothed >= local(name, x, **given) == here[0]
    top = statistic(name).global_sensitivity(bounds, relation)
    assert here[-1] <= top
    assert smoothed <= top * (1 + 1e-9)
    bound = here[len(here) // 3] * 0.9
    far = distance(name, x, bound, **given)
    for other in others:
        for k, each in enumerate(here):
            assert each <= at_distance(name, other, k + 1, **given)
        assert smoothed <= math.exp(beta) * smooth(name, other, beta, **given)
        farther = distance(name, other, bound, **given)
        assert far == farther or abs(far - farther) <= 1


@pytest.mark.sampled
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES, ids=str)
@settings(max_examples=25)
@given(x=st.lists(values, max_size=8), fresh=values, beta=betas)
def test_neighbours_agree_exactly(name, relation, x, fresh, beta) -> None:
    check(name, x, relation, pairs(x, relation, fresh), beta, (0.1, 0.7))


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=25)
@given(x=st.lists(st.sampled_from("abc"), max_size=8), fresh=st.sampled_from("abc"), beta=betas)
def test_neighbours_agree_on_the_mode(relation, x, fresh, beta) -> None:
    check(Mode(("a", "b", "c")), x, relation, pairs(x, relation, fresh), beta, None)


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=25)
@given(x=st.lists(st.tuples(values, values), max_size=6), fresh=st.tuples(values, values), beta=betas)
def test_neighbours_agree_on_the_slope(relation, x, fresh, beta) -> None:
    def columns(data):
        return [a for a, _ in data], [b for _, b in data]

    others = [columns(other) for other in pairs(x, relation, fresh)]
    check(Slope((-2, 5)), columns(x), relation, others, beta, ((0.1, 0.7), (0.1, 0.7)))


@dataclass(frozen=True)
class Steps:
    """A plug-in: local sensitivity 2**-40 until `far`, then 1."""

    far: int

    def value(self, x, bounds):
        return 0.0

    def global_sensitivity(self, bounds, relation, n=None):
        return 1.0

    def profile(self, x, bounds, relation):
        return Profile(lambda k: 1.0 if k >= self.far else 2.0**-40, last=10**9)


@pytest.mark.parametrize("far", [1, 2, 3, 17, 1000, 65537])
@pytest.mark.parametrize("beta", [1e-4, 0.01, 1])
def test_a_plug_in_brings_its_own(far, beta) -> None:
    assert smooth(Steps(far), None, beta) == pytest.approx(max(2.0**-40, math.exp(-beta * far)), rel=1e-5)
    assert distance(Steps(far), None, 0.5) == far
    assert distance(Steps(far), None, 1) == math.inf


def test_a_search_calls_a_plug_in_seldom() -> None:
    asked: list[int] = []
    profile = Profile(lambda k: asked.append(k) or min(1.0, 1e-6 * math.exp(min(k, 99_999) / 5000)), last=10**6)

    class Counted(Steps):
        def profile(self, x, bounds, relation):
            return profile

    smooth(Counted(1), None, 1e-4)
    assert len(asked) < 400


def test_what_underflows_is_a_floor() -> None:
    assert smooth("median", [5] * 99, 1000, bounds=(0, 10)) >= 2.0**-1000
    assert smooth("sum", [], 1, bounds=(0, 10), relation="substitute") == 0


EQUAL = [
    [0.5, 2, -1.0, float("nan")],
    (0.5, 7, -3, "nonsense"),
    ["0.5", "inf", "-inf", "x"],
    [Fraction(1, 2), Decimal(1), None, 10**400 * -1],
    np.array([0.5, np.inf, -np.inf, np.nan]),
    np.array([0.5, 1, 0, None], dtype=object),
    np.array([0.5, 1, 0, 0], dtype=np.float32),
    pa.array([0.5, 3.0, None, float("nan")]),
    pa.chunked_array([[0.5], [3.0, None, -1.0]]),
    [0.5, 1, [1, 2], {}],
]


@pytest.mark.parametrize("x", EQUAL, ids=lambda each: type(each).__name__)
def test_values_are_clamped_and_never_refused(x) -> None:
    assert statistic("sum").value(x, (0, 1)) == 1.5
    assert local("mean", x, bounds=(0, 1)) == local("mean", [0.5, 1, 0, 0], bounds=(0, 1))


class _Odd:
    def __float__(self) -> float:
        raise RuntimeError("a value that must not show")

    def __array__(self, *_: object, **__: object) -> object:
        raise KeyError("nor this one")


class _One:
    """A sequence of one number, and a number."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: int) -> float:
        return 7.0

    def __float__(self) -> float:
        return 5.0


RECORDS = [
    1, True, 2.5, None, "3", "1_0", "x", b"4", bytearray(b"5"), 10**400, Fraction(1, 3), Decimal("sNaN"), 1j, [], [1],
    (1.0,), {}, _Odd(), _One(), np.float32(1.5), np.int8(3), np.array(2.0), np.array([2.0]), np.timedelta64(5, "s"),
    np.timedelta64("NaT"), np.datetime64("2020-01-01"), dt.timedelta(1), pa.scalar(3), np.ma.masked,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("record", RECORDS, ids=lambda each: type(each).__name__)
def test_a_record_does_not_change_what_others_are(record) -> None:
    alone = clamped([record], -1e9, 1e9)
    assert clamped([record, record], -1e9, 1e9).tolist() == [*alone, *alone]
    for other in RECORDS:
        assert clamped([record, other], -1e9, 1e9)[0] == alone[0]
        assert Count().value([record, other]) == 2


def test_what_a_mask_hides_is_missing() -> None:
    hidden = np.ma.array([5.0, 7.0, 9.0], mask=[0, 1, 0])  # what DuckDB's fetchnumpy makes of a null
    assert clamped(hidden, 1, 100).tolist() == [5, 1, 9]
    assert CountDistinct().value(np.ma.array([5, 7, 9, 9], mask=[0, 1, 0, 1])) == 3
    assert Mode((5, 7)).value(np.ma.array([7, 7, 7, 5], mask=[1, 1, 0, 0])) == 5


def test_records_of_different_shapes_are_counted() -> None:
    assert Count().value([np.zeros((2, 2)), np.zeros((2, 3))]) == 2


@pytest.mark.parametrize("x", [np.array([1, 2]), pa.array([1, 2]), range(1, 3), np.array([True, 1]), [1, 2]])
def test_whole_numbers_are_taken(x) -> None:
    assert statistic("max").value(x, (0, 5)) in {1.0, 2.0}


def test_the_empty_data_set_has_a_value() -> None:
    assert [statistic(each).value([], (0, 4)) for each in ("mean", "median", "min", "max", "sum", "variance")] == [
        2, 2, 2, 2, 0, 0,
    ]  # fmt: skip


def test_extreme_numbers_are_exact() -> None:
    x = [5e-324, 1e300, -1e300, 2.0**-1074, 1.0]
    assert statistic("sum").value(x, (-1e300, 1e300)) == 1.0
    assert statistic("sum").value([2.0**53, *[1.0] * 1000], (0, 2.0**60)) == 2.0**53 + 1000
    assert local("mean", x, bounds=(-1e300, 1e300)) > 0
    assert local("variance", [0.0, 5e-324], bounds=(0, 1e-300)) >= 0


@pytest.mark.parametrize(
    ("name", "relation", "n", "expected"),
    [("mean", "add_remove", None, 1), ("mean", "substitute", 4, 0.5), ("mean", "substitute", None, 2),
     ("sum", "add_remove", None, 3), ("sum", "substitute", 9, 2), ("sum", "substitute", 0, 0),
     ("variance", "add_remove", None, 1), ("variance", "substitute", 4, 0.75), ("variance", "substitute", 1, 0),
     ("median", "add_remove", None, 2), ("median", "substitute", 0, 0), ("count_distinct", "substitute", 1, 0),
     ("count_distinct", "add_remove", None, 1)],
)  # fmt: skip
def test_global_sensitivity(name, relation, n, expected) -> None:
    assert statistic(name).global_sensitivity((1, 3), relation, n) == expected


@pytest.mark.parametrize(
    "call",
    [lambda: local("mode", ["a"]), lambda: local("mood", [1], bounds=(0, 1)), lambda: local("mean", [1]),
     lambda: local("mean", [1], bounds=(1, 0)), lambda: local("mean", [1], bounds=(0, math.inf)),
     lambda: local("mean", [1], bounds=(0, 1), relation="swap"), lambda: local("mean", [[1, 2]] and 3, bounds=(0, 1)),
     lambda: local("mean", np.zeros((2, 2)), bounds=(0, 1)), lambda: at_distance("mean", [1], -1, bounds=(0, 1)),
     lambda: at_distance("mean", [1], 1.5, bounds=(0, 1)), lambda: smooth("mean", [1], 0, bounds=(0, 1)),
     lambda: smooth("mean", [1], math.nan, bounds=(0, 1)), lambda: distance("mean", [1], -1, bounds=(0, 1)),
     lambda: statistic(object()), lambda: statistic(Mean(), 3), lambda: local("mean", "text", bounds=(0, 1)),
     lambda: local("mean", [1], bounds=(0, 1e308))],
)  # fmt: skip
def test_bad_arguments_are_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()
