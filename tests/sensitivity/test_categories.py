"""The mode and the count of distinct values against brute force."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity import Count, CountDistinct, Mode, at_distance, distance, smooth

RELATIONS = ["add_remove", "substitute"]
DOMAIN = ("a", "b", "c")

small = st.lists(st.sampled_from(DOMAIN), max_size=5)


@pytest.mark.parametrize("relation", RELATIONS)
@given(x=small)
def test_the_mode_is_brute_force(brute_force, relation, x) -> None:
    mode = Mode(DOMAIN)

    def place(data: tuple) -> int:
        return 10 ** DOMAIN.index(max(DOMAIN, key=data.count))  # `max` keeps the first of equals

    expected = [float(each > 0) for each in brute_force(place, x, DOMAIN, relation, 5)]
    assert [at_distance(mode, x, k, relation=relation) for k in range(6)] == expected
    unstable = next((k for k, each in enumerate(expected) if each), math.inf)
    assert distance(mode, x, bound=0, relation=relation) == unstable
    assert DOMAIN.index(mode.value(x)) == round(math.log10(place(tuple(x))))
    assert smooth(mode, x, 0.5, relation=relation) == pytest.approx(math.exp(-0.5 * unstable))


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=60)
@given(x=st.lists(st.sampled_from(range(3)), max_size=4))
def test_distinct_values_are_brute_force(brute_force, relation, x) -> None:
    fresh = range(12)  # more than any data set here can have: a domain without end
    expected = brute_force(lambda data: len(set(data)), x, range(4), relation, 3, distant=lambda _: fresh)
    assert [at_distance("count_distinct", x, k, relation=relation) for k in range(4)] == expected
    assert CountDistinct().value(x) == len(set(x))


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=30)
@given(x=st.lists(st.sampled_from(range(2)), max_size=4))
def test_the_count_is_brute_force(brute_force, relation, x) -> None:
    expected = brute_force(len, x, range(2), relation, 2)
    assert [at_distance("count", x, k, relation=relation) for k in range(3)] == expected
    assert Count().value(x) == Count().value(np.array(x)) == len(x)
    assert Count().global_sensitivity(None, relation) == max(expected)
    with pytest.raises(ParameterError, match="sequence"):
        Count().value(3)


def test_one_category_never_changes() -> None:
    assert distance(Mode(("only",)), ["only"], bound=0) == math.inf
    assert smooth(Mode(("only",)), ["only"], 1) == 0


def test_foreign_and_odd_values_count_as_the_first_category() -> None:
    assert Mode(DOMAIN).value(["z", None, float("nan"), ["list"], "b", "b"]) == "a"
    assert CountDistinct().value([1, 1.0, None, float("nan"), float("nan")]) == 2


@pytest.mark.parametrize("column", [np.array(["b", "b", "a"]), pa.array(["b", "b", "a"])])
def test_columns_are_taken(column) -> None:
    assert Mode(DOMAIN).value(column) == "b"
    assert CountDistinct().value(column) == 2


@pytest.mark.parametrize("domain", [(), ("a", "a"), ([],), 5])
def test_a_bad_domain_is_refused(domain) -> None:
    with pytest.raises(ParameterError):
        Mode(domain)
