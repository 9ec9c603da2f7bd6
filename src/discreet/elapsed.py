"""A sign of life on slow work: elapsed time and nothing else, for anything else would tell about the data."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["PATIENCE", "elapsed"]

PATIENCE = 2.0
"""Seconds before the sign appears."""


@contextmanager
def elapsed() -> Generator[None]:
    """Show elapsed seconds on stderr once the block has run for two of them; nothing where stderr is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        yield
        return
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(done, time.monotonic()), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


def _tick(done: threading.Event, start: float) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        while not done.is_set():
            status.update(f"working, {int(time.monotonic() - start)} s")
            done.wait(1)
