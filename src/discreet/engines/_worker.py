"""An engine works in a thread of its own, so that whoever waits for it can stop waiting, and stop it.

Python runs the handler of a signal when the main thread is next in Python. A thread that waits inside a database is
not, so Ctrl-C would come when the query is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from discreet.release import Cancellation, current_question

__all__ = ["Worker"]

_POLL = 0.1
"""Seconds between two looks at whether a question was cancelled."""
_GRACE = 0.5
"""Seconds that a caller waits for the engine to stop before it returns without it."""
_AGAIN = 0.2
"""Seconds between two interrupts: an interrupt between two statements has no effect, so it is repeated."""

_T = TypeVar("_T")


class Worker:
    """Runs an engine's work, one piece at a time, each in a new thread while its caller waits.

    `interrupt` asks the engine to stop. It is called from another thread, repeatedly, only while work runs, and may
    fail.
    """

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt
        self._turn = threading.Lock()
        self._gate = threading.Lock()
        """Held while an interrupt is sent and while work begins or ends, so that no interrupt reaches later work."""
        self._running: Cancellation | None = None
        self._open: set[Cancellation] = set()

    def run(self, work: Callable[[], _T]) -> _T:
        """What `work` returns or raises, once no other work is being done.

        Raises `Cancelled` if the caller's question is cancelled, and what a signal handler raises, such as
        `KeyboardInterrupt`: both within a second, whether or not the engine has stopped by then. The engine is
        interrupted until it stops, and other work waits for it.
        """
        cancellation = current_question.get() or Cancellation()
        cancellation.check()
        done = threading.Event()
        results: list[_T] = []
        errors: list[BaseException] = []

        def job() -> None:
            current_question.set(cancellation)
            try:
                results.append(self._in_turn(work, cancellation))
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                errors.append(error)
            finally:
                done.set()

        self._open.add(cancellation)
        thread = threading.Thread(target=copy_context().run, args=(job,), name="discreet query", daemon=True)
        try:
            thread.start()
            while not done.wait(_POLL):  # by polling: not every platform wakes a thread for a signal
                cancellation.check()
        except BaseException:
            if thread.ident is not None:
                cancellation.cancelled = True
                self._stop(cancellation, done)
            raise
        finally:
            self._open.discard(cancellation)
        cancellation.check()
        if errors:
            try:
                raise errors[0]
            finally:
                errors.clear()  # an error refers to this frame
        return results[0]

    def close(self, last: Callable[[], None]) -> None:
        """Cancel all work and call `last`: at once, or in another thread if the engine takes longer to stop."""
        for cancellation in tuple(self._open):
            cancellation.cancelled = True
        if self._turn.acquire(timeout=_GRACE):
            try:
                last()
            finally:
                self._turn.release()
        else:
            threading.Thread(target=self._close_later, args=(last,), name="discreet close", daemon=True).start()

    def _close_later(self, last: Callable[[], None]) -> None:
        with self._turn, suppress(Exception):  # no caller is left to receive an error
            last()

    def _in_turn(self, work: Callable[[], _T], cancellation: Cancellation) -> _T:
        with self._turn:
            with self._gate:
                cancellation.check()
                self._running = cancellation
            try:
                return work()
            finally:
                with self._gate:
                    self._running = None

    def _stop(self, cancellation: Cancellation, done: threading.Event) -> None:
        """Interrupt work until it is done; wait at most `_GRACE` seconds for that."""
        again = threading.Thread(target=self._interrupt_until, args=(cancellation, done), daemon=True)
        again.start()
        done.wait(_GRACE)

    def _interrupt_until(self, cancellation: Cancellation, done: threading.Event) -> None:
        while not done.is_set():
            with self._gate:
                if self._running is cancellation:
                    with suppress(Exception):  # an interrupt fails if nothing runs or the connection is closed
                        self._interrupt()
            done.wait(_AGAIN)
