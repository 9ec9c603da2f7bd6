"""Open the engine for a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.engines._protocol import Engine
from discreet.engines._several import Several
from discreet.errors import DataError
from discreet.policy import Policy

__all__ = ["open_engine"]

_POSTGRES = ("postgresql://", "postgres://")
_SPARK = "spark://"


def open_engine(source: object, policy: Policy) -> Engine:
    """The engine for a source: DuckDB unless it is a PostgreSQL URL, a Spark session or URL, or a dict of several.

    Every table of the policy is checked. Raises `DataError` if the source cannot be used, `MissingExtra` if its
    engine is not installed.
    """
    engine = _engine(source, policy)
    try:
        for table in policy.tables:
            engine.check(table)
    except BaseException:
        engine.close()
        raise
    return engine


def _engine(source: object, policy: Policy) -> Engine:
    if not isinstance(source, Mapping):
        return _elsewhere(source, policy, None) or _duckdb(source, policy)
    known = {name.casefold(): name for name in policy.tables}
    places: dict[object, tuple[object, list[str]]] = {}
    files: dict[str, object] = {}
    given: dict[str, str] = {}
    for name in map(str, source):
        if (other := given.setdefault(name.casefold(), name)) != name:
            raise DataError(f"{other} and {name} are sources of one table, since case tells no names apart; keep one")
    for name, value in source.items():
        table = known.get(str(name).casefold())
        if table is None or _place(value) is None:
            files[str(name)] = value
        else:
            places.setdefault(_place(value), (value, []))[1].append(table)
    if not places:
        return _duckdb(source, policy)
    engines: dict[str, Engine] = {}
    try:
        if files:
            duckdb = _duckdb(files, policy)
            engines |= {known.get(name.casefold(), name): duckdb for name in files}
        for value, tables in places.values():
            engine = _elsewhere(value, policy, tables)
            assert engine is not None
            engines |= dict.fromkeys(tables, engine)
    except BaseException:
        Several(engines, policy).close()
        raise
    return Several(engines, policy)


def _duckdb(source: Any, policy: Policy) -> Engine:
    from discreet.engines.duckdb import DuckDB

    return DuckDB(source, policy)


def _elsewhere(source: Any, policy: Policy, tables: list[str] | None) -> Engine | None:
    """An engine beside the embedded one, for some of the policy's tables; None if the source is not of such a kind."""
    if _place(source) is None:
        return None
    if isinstance(source, str) and source.startswith(_POSTGRES):
        from discreet.engines.postgres import PostgreSQL

        return PostgreSQL(source, policy, tables)
    from discreet.engines.spark import Spark, spark_at

    return spark_at(source, policy, tables) if isinstance(source, str) else Spark(source, policy, tables)


def _place(source: object) -> object:
    """The key of a source of another engine: a URL, or a Spark session; None for what DuckDB reads.

    >>> _place("postgresql://db/shop"), _place("visits.parquet")
    ('postgresql://db/shop', None)
    """
    if isinstance(source, str):
        if source.startswith((*_POSTGRES, _SPARK)):
            return source
        if "password=" in source.lower().replace(" ", ""):
            raise DataError("a PostgreSQL source is a URL such as postgresql://user:password@host:5432/database")
        if "://" in source:
            raise DataError(
                f"a source at {source.partition('://')[0]}:// cannot be read; give a path, a postgresql:// or a "
                "spark:// URL, a Spark session or a frame"
            )
        return None
    module, name = type(source).__module__, type(source).__name__
    return id(source) if module.startswith("pyspark.sql") and name == "SparkSession" else None
