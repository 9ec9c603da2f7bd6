"""One run of a counter: whole numbers of any size, no more steps than paid for, one process, no copies."""

from __future__ import annotations

import copy
import math
import os
import pickle
from threading import Thread

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import CountStream, ToeplitzCounter, TreeCounter

COUNTERS = {
    "tree": TreeCounter(60, "1/1000"),
    "toeplitz": ToeplitzCounter(60, "1/1000"),
}  # without noise, nearly surely


@pytest.fixture(params=COUNTERS)
def counter(request):
    return COUNTERS[request.param]


def test_sums_of_any_size_and_sign(counter) -> None:
    increments = [2**200, -1, 0, -(2**201), 7]
    sums = np.cumsum(np.array(increments, dtype=object)).tolist()
    assert counter.release(increments) == sums
    assert counter.release(np.array([1, 2, -5], dtype=np.int8)) == [1, 3, -2]
    assert counter.release([]) == counter.release(np.array([], dtype=int)) == []
    assert counter.release(range(60)) == np.cumsum(range(60)).tolist()
    assert all(type(each) is int for each in counter.release(np.arange(3)))


def test_pieces_are_as_one(counter) -> None:
    stream = counter.start()
    told = [stream.add(3), *stream.add_all([4, 5]), *stream.add_all([]), stream.add(np.int64(-9))]
    assert told == [3, 7, 12, 3]
    assert stream.left == 56


def test_no_more_steps_than_paid_for(counter) -> None:
    stream = counter.start()
    with pytest.raises(ParameterError, match="too many"):
        stream.add_all([1] * 61)
    assert stream.left == 60
    assert stream.add_all([1] * 60)[-1] == 60
    with pytest.raises(ParameterError, match="0 steps left"):
        stream.add(1)
    with pytest.raises(ParameterError, match="too many"):
        counter.release([1] * 61)


@pytest.mark.parametrize(
    "increments", [[1.0], [math.nan], [True], [None], ["1"], [[1]], 3, "12", None, np.array([[1]])], ids=str
)
def test_what_is_not_whole_is_refused_and_takes_no_step(increments, counter) -> None:
    stream = counter.start()
    with pytest.raises(ParameterError, match="whole numbers"):
        stream.add_all(increments)
    with pytest.raises(ParameterError, match="whole numbers"):
        counter.release(increments)
    assert stream.left == 60
    with pytest.raises(ParameterError, match="whole numbers"):
        stream.add(2.5)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_no_copies(copied, counter) -> None:
    with pytest.raises(ParameterError, match="cannot be copied"):
        copied(counter.start())
    assert copied(counter) is not None  # a counter has no state


def test_not_in_another_process(monkeypatch, counter) -> None:
    stream = counter.start()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(ParameterError, match="forked"):
        stream.add(0)


def test_threads_share_the_sum_and_the_steps(counter) -> None:
    stream, told = counter.start(), []
    threads = [Thread(target=lambda: [told.append(stream.add(1)) for _ in range(15)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(1, 61))


def test_a_stream_whose_noise_broke_off_says_so() -> None:
    stream = CountStream(iter([0]), steps=3)
    with pytest.raises(ParameterError, match="interrupted"):
        stream.add_all([1, 2])
    assert stream.left == 1


def test_nothing_is_told_of_the_sum(counter) -> None:
    stream = counter.start()
    stream.add(918273645)
    assert "918273645" not in repr(stream) + str(stream)
    assert not hasattr(stream, "__dict__")
