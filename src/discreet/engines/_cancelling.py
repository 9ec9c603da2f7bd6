"""Cancelling: an engine works in a thread of its own, so that whoever waits for it can stop waiting, and stop it.

Python runs the handler of a signal when the main thread is next in Python. A thread that waits inside a database is
not, so Ctrl-C would come when the query is over.

A `Cancellation` belongs to one question. It is cancelled by `Questions.cancel`, from any thread or handler of a signal,
or by whatever ends the caller's wait. It is never taken back, so a question that was cancelled cannot be mistaken for
one that failed, and the next question has another: nothing is left over that could stop that one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TypeVar

from discreet.errors import Cancelled

__all__ = ["Cancellation", "Questions", "Worker", "check_cancelled"]

_GLANCE = 0.1
"""Seconds between two looks at whether a question was cancelled."""
_GRACE = 0.5
"""Seconds that a caller waits for the engine to stop before it is left to itself."""
_AGAIN = 0.2
"""Seconds between two interrupts: one that comes between two statements stops neither."""

_T = TypeVar("_T")


class Cancellation:
    """Whether one question was cancelled. No lock, so that a handler of a signal may cancel."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def check(self) -> None:
        """Raise `Cancelled` if the question was."""
        if self.cancelled:
            raise Cancelled("the query was cancelled; what was reserved for it stays spent. Ask again if it is wanted")


_current: ContextVar[Cancellation | None] = ContextVar("current question", default=None)
"""The question that this thread works for."""


def check_cancelled() -> None:
    """Raise `Cancelled` if the question that this thread works for was cancelled; for between the steps of long work.

    An engine asks this before it tries again what failed: a failure may be the interrupt's.
    """
    cancellation = _current.get()
    if cancellation is not None:
        cancellation.check()


class Questions:
    """The questions that a session is answering."""

    def __init__(self) -> None:
        self._open: set[Cancellation] = set()

    @contextmanager
    def asked(self) -> Generator[None]:
        """What is done in the block, in this thread and by engines for it, belongs to one new question."""
        cancellation = Cancellation()
        outer = _current.set(cancellation)
        self._open.add(cancellation)
        try:
            yield
        finally:
            self._open.discard(cancellation)
            _current.reset(outer)

    def cancel(self) -> None:
        """Cancel every question that is open now."""
        for cancellation in tuple(self._open):
            cancellation.cancelled = True


class Worker:
    """Does an engine's work, one piece at a time, each in a new thread while its caller waits.

    `interrupt` makes the engine stop what it does. It is called from another thread, only while there is work, as often
    as it takes, and may fail.
    """

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt
        self._turn = threading.Lock()
        self._gate = threading.Lock()
        """Held while an interrupt is sent, and when work begins or ends: none is sent to the work that comes after."""
        self._running: Cancellation | None = None
        self._open: set[Cancellation] = set()

    def run(self, work: Callable[[], _T]) -> _T:
        """What `work` returns or raises, once no other work is being done.

        Raises `Cancelled` if the question that the caller works for is cancelled, and what a handler of a signal
        raises, such as `KeyboardInterrupt`: both within a second, whether or not the engine has stopped by then. It is
        interrupted until it has, and other work waits for it.
        """
        cancellation = _current.get() or Cancellation()
        cancellation.check()
        done = threading.Event()
        results: list[_T] = []
        errors: list[BaseException] = []

        def job() -> None:
            _current.set(cancellation)
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
            while not done.wait(_GLANCE):  # by glances: not every platform wakes a thread for a signal
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
        """Cancel all work, and do the last there is: now, or when an engine has stopped that takes longer."""
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
        with self._turn, suppress(Exception):  # nobody is there to hear of it
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
        """Interrupt work until it is done, and wait for that for a moment."""
        again = threading.Thread(target=self._interrupt_until, args=(cancellation, done), daemon=True)
        again.start()
        done.wait(_GRACE)

    def _interrupt_until(self, cancellation: Cancellation, done: threading.Event) -> None:
        while not done.is_set():
            with self._gate:
                if self._running is cancellation:
                    with suppress(Exception):  # what has no work to stop, or is gone
                        self._interrupt()
            done.wait(_AGAIN)
