"""State that forks, threads, copies and interpreters share is found, and ours shares none.

Flags have a false alarm of 1e-10.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.black_box._subject import subject, text_of
from discreet.audit.probes import _copied_rng_state as c
from discreet.audit.probes._copied_rng_state import in_child, in_fresh_interpreter, in_threads
from discreet.mechanisms import DiscreteLaplace


def found(mechanism: Any, data: Any = 0, name: str | None = None) -> dict[str, str]:
    texts = [text_of(each) for each in subject(mechanism).draw(data, 2_000)]
    each = c.copied_rng_state(mechanism, data, texts, name)
    assert all(one.false_alarm <= 1e-9 for one in each)
    return {one.name: one.mark for one in each}


class WithGenerator:
    """A mechanism that keeps its generator."""

    def __init__(self, *, float_noise: bool = True) -> None:
        self.rng = np.random.default_rng()
        self.float_noise = float_noise

    def release(self, x: float) -> float:
        return x + (self.rng.laplace() if self.float_noise else int(self.rng.integers(0, 4)))


def test_ours_is_fine_everywhere() -> None:
    told = found(DiscreteLaplace(20))
    assert told == {c.FORKED: "fine", c.THREADS: "fine", c.COPIES: "fine", c.SPAWNED: "n/a"}


def test_noise_so_low_that_it_agrees_is_not_judged() -> None:
    assert set(found(DiscreteLaplace("0.01")).values()) == {"n/a"}
    assert set(found(lambda _: 5).values()) == {"n/a"}


@pytest.mark.parametrize("float_noise", [True, False])
def test_a_generator_in_the_mechanism_is_shared_by_forks_and_copies(*, float_noise: bool) -> None:
    told = found(WithGenerator(float_noise=float_noise))
    assert told[c.FORKED] == told[c.COPIES] == "LEAK"
    assert told[c.THREADS] == "fine"


def test_so_is_a_generator_in_a_closure() -> None:
    rng = np.random.default_rng()
    told = found(lambda x: x + rng.normal())
    assert told[c.FORKED] == "LEAK"
    assert told[c.COPIES] == "n/a"


def test_a_generator_per_thread_that_is_seeded_is_found() -> None:
    own = threading.local()

    def release(x: float) -> float:
        if not hasattr(own, "rng"):
            own.rng = np.random.default_rng(1)
        return x + own.rng.normal()

    assert found(release)[c.THREADS] == "LEAK"


SEEDED = """
import numpy as np
_RNG = np.random.default_rng(1)
_FRESH = np.random.default_rng()
def fresh(x): return x + _FRESH.normal()
class Nested:
    @staticmethod
    def release(x): print("noise on stdout"); return x + _RNG.normal()
"""


@pytest.mark.parametrize(
    ("name", "mark"), [("Nested.release", "LEAK"), pytest.param("fresh", "fine", marks=pytest.mark.soak)]
)
def test_a_generator_seeded_at_import_is_found(
    name: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "seeded_at_import.py").write_text(SEEDED)
    monkeypatch.syspath_prepend(tmp_path)
    text = f"seeded_at_import:{name}"
    assert found(c.named(text), 0.0, text)[c.SPAWNED] == mark


@pytest.mark.parametrize("name", ["", "math", ":", "math:", ":sqrt", "math:no_such", "no_such_module:f"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(dp.ParameterError):
        c.named(name)


def test_a_child_that_hangs_is_ended_and_one_that_fails_says_nothing() -> None:
    assert in_child(lambda: time.sleep(3600), seconds=1) is None  # type: ignore[arg-type,return-value]
    assert in_child(lambda: [str(1 // 0)]) is None
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL)) is None  # type: ignore[arg-type,return-value]
    assert in_child(lambda: ["a"]) == ["a"]


def test_a_child_answers_though_there_are_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert in_child(lambda: ["a"]) == ["a"]
    finally:
        done.set()
        thread.join()


def test_threads_that_fail_are_left_out() -> None:
    assert in_threads(lambda: [str(1 // 0)], 3) == []
    assert in_threads(lambda: ["a"], 3) == [["a"]] * 3


def test_an_interpreter_that_cannot_load_says_nothing() -> None:
    assert in_fresh_interpreter("no_such_module:f", 0, 3) is None
