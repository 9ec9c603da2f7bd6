"""What a parser logs stays unsaid: it holds the text of queries."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["unlogged"]

_MUTED: ContextVar[bool] = ContextVar("muted", default=False)


@contextmanager
def unlogged() -> Generator[None, None, None]:
    """Drop what sqlglot logs in this context; other threads, and other users of it, keep their log.

    >>> with unlogged():
    ...     logging.getLogger("sqlglot").warning("a query")
    """
    logging.getLogger("sqlglot").addFilter(_said)
    before = _MUTED.set(True)
    try:
        yield
    finally:
        _MUTED.reset(before)


def _said(_: logging.LogRecord) -> bool:
    return not _MUTED.get()
