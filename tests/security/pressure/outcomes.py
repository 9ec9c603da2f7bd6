"""What an analyst sees of a query under tight limits, and a watch that ends a query which does not end by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

import discreet as dp
from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.query import BoundedAggregate

__all__ = ["NEVER", "Cancel", "Outcome", "ended", "interrupt", "limit", "released", "watched"]

NEVER = "does not end"
SALT = b"sixteen bytes of"
SPEND = dp.approx(1, "1e-6")

Outcome = tuple[object, ...]
Cancel = Callable[[], Any]


def limit(engine: Engine, memory: str, disk: str) -> None:
    """Limits for every connection of DuckDB."""
    for connection in _connections(engine):
        connection.execute("SET threads = 2")
        connection.execute(f"SET memory_limit = '{memory}'")
        connection.execute(f"SET max_temp_directory_size = '{disk}'")


def interrupt(engine: Engine) -> None:
    """Stop what every connection of DuckDB does now."""
    for connection in _connections(engine):
        connection.interrupt()


def _connections(engine: Engine) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connections that an engine holds; all to one database share its limits."""
    assert isinstance(engine, DuckDB)
    for value in vars(engine).values():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, duckdb.DuckDBPyConnection):
                yield each


@contextmanager
def watched(cancel: Cancel, seconds: float) -> Iterator[threading.Event]:
    """Cancels what still runs after so long, again and again until it ends; the event is set if it had to."""
    over, late = threading.Event(), threading.Event()

    def watch() -> None:
        pause = seconds
        while not over.wait(pause):
            late.set()
            cancel()
            pause = 0.2

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield late
    finally:
        over.set()
        thread.join()


def ended(engine: Engine, bounded: BoundedAggregate, cancel: Cancel, seconds: float) -> Outcome:
    """Whether a request ends below the session: with groups, with which error, or not at all."""
    with watched(cancel, seconds) as late:
        try:
            engine.run(bounded, SALT)
        except DiscreetError as error:
            outcome: Outcome = type(error), str(error)
        except KeyboardInterrupt:
            outcome = (NEVER,)
        else:
            outcome = ("ends",)
    return (NEVER,) if late.is_set() else outcome


def released(session: dp.Session, query: str, cancel: Cancel, seconds: float) -> Outcome:
    """What a session shows beside what is noisy: the columns, public keys, the error and its words, and the charge."""
    with watched(cancel, seconds) as late:
        try:
            table = session.sql(query, SPEND).to_arrow()
            plan = session.plan(query)
        except DiscreetError as error:
            outcome: Outcome = type(error), str(error), str(error.__cause__), str(error.__context__)
        except KeyboardInterrupt:
            outcome = (NEVER,)
        else:
            discovered = any(level.bounded.count_units for level in plan.levels)
            outcome = (
                None if discovered else table.num_rows,
                *((field.name, str(field.type)) for field in table.schema),
            )
    return (NEVER,) if late.is_set() else (*outcome, str(session.spent))
