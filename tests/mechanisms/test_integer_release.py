"""What every mechanism that releases integers takes and gives back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import BoundedLaplace, DiscreteLaplace, Gaussian, Laplace, Staircase, TruncatedLaplace

BIG = 2**110 + 1

KINDS = {
    "BoundedLaplace": (BoundedLaplace("0.001", (-BIG, 2**62 - BIG)), -BIG, BoundedLaplace(1000, (-500, 2000))),
    "DiscreteLaplace": (DiscreteLaplace("0.001"), BIG, DiscreteLaplace(1000)),
    "Gaussian": (Gaussian("0.001"), BIG, Gaussian(1000)),
    "Laplace": (Laplace("0.001"), BIG, Laplace(1000)),
    "Staircase": (Staircase(1000, 9), BIG, Staircase("0.01", 9)),
    "TruncatedLaplace": (TruncatedLaplace("0.001", 7), BIG, TruncatedLaplace(1000, 300)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_big_integers(kind: str) -> None:
    quiet, big, loud = KINDS[kind]
    assert quiet.release(big) == big
    assert quiet.release([big, big + 1]) == [big, big + 1]
    assert quiet.release((big,)) == [big]
    array = quiet.release(np.array([[big, big + 1], [big + 2, big]], dtype=object))
    assert array.tolist() == [[big, big + 1], [big + 2, big]]
    assert array.dtype == object
    assert quiet.release([]) == []
    assert quiet.release(np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
    assert loud.release(np.array(7)).shape == ()
    assert type(loud.release(np.int16(5))) is int
    assert all(type(item) is int for item in loud.release(np.arange(4)))
    assert len(set(loud.release([0] * 200))) > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "value",
    [1.0, True, None, "12", b"12", [1, 2.0], [True], np.array([1.0]), np.array([True]), float("nan"), {1: 2}],
    ids=repr,
)
def test_only_whole_numbers_are_released(kind: str, value) -> None:
    with pytest.raises(ParameterError, match="whole numbers"):
        KINDS[kind][2].release(value)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_values(kind: str) -> None:
    mechanism = KINDS[kind][2]
    assert mechanism == dataclasses.replace(mechanism)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))
    assert not hasattr(mechanism, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, 1)
