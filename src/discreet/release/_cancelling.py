"""Cancelling a question: the signal reaches one question and no other.

A `Cancellation` belongs to one question. It is cancelled by `Questions.cancel`, from any thread or handler of a signal,
or by whatever ends the caller's wait. It is never taken back, so a question that was cancelled cannot be mistaken for
one that failed, and the next question has another: nothing is left over that could stop that one.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakSet

from discreet.errors import Cancelled

__all__ = ["Cancellation", "Questions", "check_cancelled", "current_question"]


class Cancellation:
    """Whether one question was cancelled. No lock, so that a handler of a signal may cancel."""

    __slots__ = ("__weakref__", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False

    def check(self) -> None:
        """Raise `Cancelled` if the question was."""
        if self.cancelled:
            raise Cancelled("the query was cancelled; what was reserved for it stays spent. Ask again if it is wanted")


current_question: ContextVar[Cancellation | None] = ContextVar("current question", default=None)
"""The question that this thread works for."""


def check_cancelled() -> None:
    """Raise `Cancelled` if the question that this thread works for was cancelled; for between the steps of long work.

    An engine asks this before it tries again what failed: a failure may be the interrupt's.
    """
    cancellation = current_question.get()
    if cancellation is not None:
        cancellation.check()


class Questions:
    """The questions that a session is answering."""

    def __init__(self) -> None:
        self._open: set[Cancellation] = set()
        self._runs: WeakSet[Cancellation] = WeakSet()

    @contextmanager
    def asked(self) -> Generator[None]:
        """What is done in the block, in this thread and by engines for it, belongs to one new question."""
        cancellation = Cancellation()
        outer = current_question.set(cancellation)
        self._open.add(cancellation)
        try:
            yield
        finally:
            self._open.discard(cancellation)
            current_question.reset(outer)

    def run(self) -> Cancellation:
        """That of a question which is answered in steps, between which its thread works for others too.

        It is open for as long as somebody holds it.
        """
        cancellation = Cancellation()
        self._runs.add(cancellation)
        return cancellation

    def cancel(self) -> None:
        """Cancel every question that is open now."""
        for cancellation in (*self._open, *self._runs):
            cancellation.cancelled = True
