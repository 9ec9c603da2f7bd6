"""Nothing shares a stream, and nothing can replace it."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.noise._source import SecureBits

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # forking is what is tested

DRAWS: list[Callable[[], bytes]] = [
    lambda: noise.secret(32),
    lambda: noise.uniform64(4).tobytes(),
    lambda: noise.discrete_laplace(10**9, 8).tobytes(),
    lambda: noise.discrete_gaussian(10**9, 8).tobytes(),
]


def in_child(draw: Callable[[], bytes]) -> bytes:
    """What a forked child draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw())
        os._exit(0)
    os.close(write)
    drawn = os.read(read, 4096)
    os.close(read)
    os.waitpid(child, 0)
    return drawn


# Two draws of 200 bits or more agree by chance with probability below 2**-200.
@pytest.mark.parametrize("draw", DRAWS)
def test_calls_threads_and_forked_children_differ(draw: Callable[[], bytes]) -> None:
    with ThreadPoolExecutor(4) as pool:
        threads = list(pool.map(lambda _: draw(), range(8)))
    drawn = [draw(), draw(), *threads, in_child(draw), in_child(draw)]
    assert len(set(drawn)) == len(drawn)


def test_a_fork_in_the_middle_of_a_call_gets_its_own_stream() -> None:
    source = SecureBits()
    source.take(5)
    children = [in_child(lambda: source.take(32)), in_child(lambda: source.take(32))]
    assert len({source.take(32), *children}) == 3


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (noise.discrete_laplace, ["scale", "size"]),
        (noise.discrete_gaussian, ["sigma", "size"]),
        (noise.uniform64, ["size"]),
        (noise.secret, ["nbytes"]),
    ],
)
def test_no_argument_takes_a_seed_or_a_source(function: Callable[..., object], parameters: list[str]) -> None:
    assert list(inspect.signature(function).parameters) == parameters


@pytest.mark.parametrize("draw", DRAWS)
def test_other_generators_are_neither_used_nor_able_to_help(
    draw: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    for name in ("random", "getrandbits", "randbytes", "Random"):
        monkeypatch.setattr(random, name, refuse)
    for name in ("default_rng", "bytes", "random", "laplace", "normal", "Generator"):
        monkeypatch.setattr(np.random, name, refuse)
    drawn = []
    for _ in range(2):
        np.random.RandomState(7)
        random.seed(7)
        drawn.append(draw())
    assert drawn[0] != drawn[1]


def test_cipher_library_is_loaded_only_when_noise_is_drawn() -> None:
    script = (
        "import sys, discreet.noise as n; before = 'cryptography' in sys.modules; n.secret(1);"
        "print(before, 'cryptography' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("size", [-1, 1.0, True, None, "3"])
def test_bad_sizes_are_refused(size: int) -> None:
    for function in (noise.uniform64, noise.secret):
        with pytest.raises(ParameterError, match="whole number"):
            function(size)
    for sampler in (noise.discrete_laplace, noise.discrete_gaussian):
        with pytest.raises(ParameterError, match="size must be a whole number"):
            sampler(1, size)


def test_sizes() -> None:
    assert noise.uniform64(0).shape == (0,)
    assert noise.secret(0) == b""
    assert noise.uniform64(np.int64(3)).shape == (3,)
    assert len(noise.secret(1000)) == 1000


def test_bits_of_uniform64_are_fair() -> None:
    """64 sums of 2**16 fair bits, each off by more than 7.5 standard deviations with probability < 1e-13."""
    words = noise.uniform64(2**16)
    ones = np.array([int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)])
    assert np.abs(ones - 2**15).max() < 7.5 * 2**7
