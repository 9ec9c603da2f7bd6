"""Which engine reads a source: those that ship with discreet, and those of installed packages."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from discreet.engines._protocol import Declared, Engine
from discreet.policy import Policy
from discreet.postgres_url import SCHEMES

__all__ = ["ENTRY_POINTS", "EngineFactory", "factory_for"]

ENTRY_POINTS = "discreet.engines"
"""The group of entry points by which other packages bring engines: each is an `EngineFactory`."""


class EngineFactory(Protocol):
    """Recognises the sources of one engine, and opens it. An engine in another package is an entry point.

    It may also have `declared(source)`, which gives the `Declared` columns of each table from the catalogue alone.
    """

    def accepts(self, source: object) -> Hashable | None:
        """A key that is the same for the same source; None if the source is not for this engine.

        It must be quick: no connection is made, no data are read, and nothing large is imported.
        """
        ...

    def open(self, source: Any, policy: Policy, tables: Sequence[str] | None) -> Engine:
        """The engine for these tables of the policy, or for all of them (None).

        Raises `DataError` if the source cannot be used, `MissingExtra` if a library is missing.
        """
        ...


class _Postgres:
    def accepts(self, source: object) -> Hashable | None:
        return source if isinstance(source, str) and source.startswith(SCHEMES) else None

    def open(self, source: Any, policy: Policy, tables: Sequence[str] | None) -> Engine:
        from discreet.engines.postgres import PostgreSQL

        return PostgreSQL(source, policy, tables)

    def declared(self, source: Any) -> dict[str, Declared]:
        from discreet.engines.postgres import declared_tables

        return declared_tables(source)


class _Spark:
    def accepts(self, source: object) -> Hashable | None:
        if isinstance(source, str):
            return source if source.startswith("spark://") else None
        module, name = type(source).__module__, type(source).__name__
        return id(source) if module.startswith("pyspark.sql") and name == "SparkSession" else None

    def open(self, source: Any, policy: Policy, tables: Sequence[str] | None) -> Engine:
        from discreet.engines.spark import Spark, spark_at

        return spark_at(source, policy, tables) if isinstance(source, str) else Spark(source, policy, tables)

    def declared(self, source: Any) -> dict[str, Declared]:
        from discreet.engines.spark import declared_tables

        return declared_tables(source)


def factory_for(source: object) -> tuple[EngineFactory, Hashable] | None:
    """The first factory that accepts a source, with its key; None if the source is for the embedded engine.

    >>> factory_for("postgresql://db/shop") is None, factory_for("visits.parquet") is None
    (False, True)
    """
    for factory in _factories():
        key = factory.accepts(source)
        if key is not None:
            return factory, key
    return None


def _factories() -> Iterator[EngineFactory]:
    yield from _OURS
    yield from _others()


@cache
def _others() -> tuple[EngineFactory, ...]:
    return tuple(point.load() for point in entry_points(group=ENTRY_POINTS))


_OURS = (_Postgres(), _Spark())
