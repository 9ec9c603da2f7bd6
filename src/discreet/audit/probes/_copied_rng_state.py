"""Random state that is copied: forked children, threads, deep copies, pickles and fresh interpreters that agree.

Two copies draw the same number of outputs on one input. How many agree, one by one, is compared with how often two
fresh outputs agree: if all were fresh, so many would agree with at most the stated probability.
"""

from __future__ import annotations

import base64
import copy
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from discreet.audit.black_box._subject import draws, subject, text_of
from discreet.audit.probes._distinguisher import ALARM
from discreet.audit.probes._finding import Finding, unmeasured
from discreet.audit.probes._repeats import agreement
from discreet.errors import ParameterError

__all__ = [
    "COPIES",
    "FORKED",
    "SPAWNED",
    "THREADS",
    "can_fork",
    "copied_rng_state",
    "fresh_draws",
    "in_child",
    "in_fresh_interpreter",
    "in_threads",
    "named",
]


_SECONDS = 60

_FRESH = """
import base64, json, pickle, sys
asked = json.loads(sys.stdin.readline())
sys.path[:] = asked["path"]
from discreet.audit.probes._copied_rng_state import fresh_draws
told = fresh_draws(asked["name"], pickle.loads(base64.b64decode(asked["data"])), asked["size"])
print("\\n" + json.dumps(told))
"""


def can_fork() -> bool:
    """Whether this platform forks, and can end a child that hangs."""
    return hasattr(os, "fork") and hasattr(signal, "alarm")


def in_child(work: Callable[[], list[str]], seconds: int = _SECONDS) -> list[str] | None:
    """What `work` returns in a forked child; None if it fails there, or takes longer.

    A child of a process with threads may hang on a lock that another thread held at the fork; it is then ended.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        child = os.fork()
    if child == 0:
        _answer(work, write, seconds)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        answer = reader.read()
    os.waitpid(child, 0)
    return _parsed(answer)


def _answer(work: Callable[[], list[str]], write: int, seconds: int) -> None:
    """In the child; it never returns, so that nothing of the parent is run twice."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        with os.fdopen(write, "wb") as writer:
            writer.write(json.dumps(work()).encode())
    finally:
        os._exit(0)


def in_threads(work: Callable[[], list[str]], count: int) -> list[list[str]]:
    """What `work` returns in each of `count` threads that start together; those that raise are left out."""
    answers: list[list[str]] = []
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        try:
            answer = work()
        except Exception:  # noqa: BLE001 (whatever it is, there is nothing to compare)
            return
        answers.append(answer)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    return list(answers)


def in_fresh_interpreter(name: str, data: Any, size: int) -> list[str] | None:
    """`size` outputs, as text, of the mechanism that `name` stands for, in a new process; None if it fails there."""
    asked = {"name": name, "data": base64.b64encode(pickle.dumps(data)).decode(), "size": size, "path": sys.path}
    try:
        run = subprocess.run(  # noqa: S603 (this interpreter, on a fixed text)
            [sys.executable, "-c", _FRESH],
            input=json.dumps(asked) + "\n",
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if run.returncode else _parsed(run.stdout.strip().rpartition("\n")[2].encode())


def _parsed(answer: bytes) -> list[str] | None:
    try:
        return json.loads(answer) if answer else None
    except ValueError:
        return None


FORKED, THREADS, COPIES, SPAWNED = "forked children", "threads", "copies", "fresh interpreters"
_THREADS = 4
_SIZE = 128
"""Outputs that are compared: enough even if two agree by chance 4 times in 5."""

_NEXT = {
    FORKED: "Take random bits from the operating system after every fork, as the noise of discreet does.",
    THREADS: "Seed no thread; take random bits from the operating system.",
    COPIES: "Keep no generator in the mechanism: a copy of its state is a copy of its noise.",
    SPAWNED: "Seed nothing at import; take random bits from the operating system.",
}


def copied_rng_state(
    mechanism: Any, data: Any, texts: Sequence[str], name: str | None, size: int = _SIZE
) -> list[Finding]:
    """Four places in which state may be copied.

    texts: outputs on the same data, which show how often two agree by chance.
    name: the "module:function" that was given for the mechanism, for fresh interpreters.
    """
    asked = subject(mechanism)
    by_chance = agreement(texts, ALARM / 2)

    def work() -> list[str]:
        return [text_of(each) for each in draws(asked, data, size)]

    work()  # state that is made on first use is made now, and would be shared
    return [
        _of_forks(work, by_chance),
        _judged(THREADS, in_threads(work, _THREADS), by_chance),
        _of_copies(mechanism, data, size, by_chance),
        _of_interpreters(name, data, size, by_chance),
    ]


def named(name: str) -> Any:
    """The object that "module:function" stands for.

    Raises `ParameterError` if there is none.
    """
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise ParameterError(f'a mechanism in text is "module:function", got {name!r}')
    try:
        target: Any = importlib.import_module(module)
        for part in path.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"{name!r} cannot be loaded ({error}); is its folder on the path of Python?") from error
    return target


def fresh_draws(name: str, data: Any, size: int) -> list[str]:
    """In a fresh interpreter: so many outputs, as text."""
    return [text_of(each) for each in draws(subject(named(name)), data, size)]


def _of_forks(work: Callable[[], list[str]], by_chance: float) -> Finding:
    if not can_fork():
        return unmeasured(FORKED, "this platform does not fork.")
    answers = [in_child(work), in_child(work), work()]
    return _judged(FORKED, [each for each in answers if each is not None], by_chance)


def _of_copies(mechanism: Any, data: Any, size: int, by_chance: float) -> Finding:
    places: list[Any] = []
    for clone in (copy.deepcopy, _pickled):
        with suppress(Exception):  # what cannot be copied has no copies
            places += [copied for copied in (clone(mechanism), clone(mechanism)) if copied is not mechanism]
    if not places:
        return unmeasured(COPIES, "the mechanism cannot be copied, or is a function, which copies share.")
    # All copies are made before any of them draws.
    answers = [[text_of(each) for each in draws(subject(place), data, size)] for place in (*places, mechanism)]
    return _judged(COPIES, answers, by_chance)


def _pickled(mechanism: Any) -> Any:
    return pickle.loads(pickle.dumps(mechanism))  # noqa: S301 (what was pickled here)


def _of_interpreters(name: str | None, data: Any, size: int, by_chance: float) -> Finding:
    if name is None:
        return unmeasured(SPAWNED, 'only a mechanism that is given as the text "module:function" can be loaded anew.')
    answers = [in_fresh_interpreter(name, data, size) for _ in range(2)]
    return _judged(SPAWNED, [each for each in answers if each is not None], by_chance)


def _judged(name: str, answers: Sequence[list[str]], by_chance: float) -> Finding:
    """Whether any two copies agree more often than fresh outputs would."""
    from scipy.special import bdtrc  # pyright: ignore[reportMissingTypeStubs]

    if len(answers) < 2:
        return unmeasured(name, "the mechanism did not answer there.")
    size = min(map(len, answers))
    pairs = list(combinations(answers, 2))
    agree = max(sum(a == b for a, b in zip(one, other, strict=False)) for one, other in pairs)
    numbers = {"agree": agree, "of": size, "by_chance_at_most": by_chance}
    chance = float(bdtrc(agree - 1, size, by_chance)) if agree else 1.0
    if by_chance < 1 and chance <= ALARM / 2 / len(pairs):
        sentence = (
            f"{agree} of {size} outputs agree between two {name}: they share the state of a generator. {_NEXT[name]}"
        )
        return Finding(name, violated=True, sentence=sentence, false_alarm=ALARM, numbers=numbers)
    if by_chance**size > ALARM / 2 / len(pairs):
        return unmeasured(name, "the outputs vary too little to see whether noise is shared.")
    sentence = f"Outputs of {len(answers)} {name} agree no more than fresh noise does."
    return Finding(name, violated=False, sentence=sentence, false_alarm=ALARM, numbers=numbers)
