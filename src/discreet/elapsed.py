"""Progress of slow work: elapsed time and public step numbers, since anything else would depend on the data."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["PATIENCE", "elapsed", "on_step", "report_step"]

PATIENCE = 2.0
"""Seconds before the sign appears."""

_StepHook = Callable[[float, int, int], object]
"""Takes the elapsed seconds, the number of steps that are done, and how many there are."""

_hooks: ContextVar[tuple[Callable[[int, int], object], ...]] = ContextVar("hooks of progress", default=())


def report_step(done: int, total: int) -> None:
    """Tell whoever watches that `done` of `total` steps are over. Both must be public numbers."""
    for hook in _hooks.get():
        hook(done, total)


@contextmanager
def on_step(hook: _StepHook) -> Generator[None]:
    """Call `hook` at each step of what is answered in the block, in this thread.

    >>> with on_step(lambda seconds, done, total: print(done, "of", total)):
    ...     report_step(1, 3)
    1 of 3
    """
    start = time.monotonic()
    token = _hooks.set((*_hooks.get(), lambda done, total: hook(time.monotonic() - start, done, total)))
    try:
        yield
    finally:
        _hooks.reset(token)


@contextmanager
def elapsed() -> Generator[None]:
    """Show elapsed seconds and steps on stderr once the block has run for two seconds; nothing without a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        yield
        return
    done, steps = threading.Event(), [""]

    def show(_: float, number: int, total: int) -> None:
        steps[0] = f", step {number:,} of {total:,}"

    ticker = threading.Thread(target=_tick, args=(done, time.monotonic(), steps), daemon=True)
    ticker.start()
    try:
        with on_step(show):
            yield
    finally:
        done.set()
        ticker.join()


def _tick(done: threading.Event, start: float, steps: list[str]) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        while not done.is_set():
            status.update(f"working, {int(time.monotonic() - start)} s{steps[0]}")
            done.wait(1)
