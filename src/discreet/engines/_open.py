"""Open the engine for a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from discreet.engines._factories import EngineFactory, factory_for
from discreet.engines._protocol import Declared, Engine
from discreet.engines._several import Several
from discreet.errors import DataError
from discreet.policy import Policy

__all__ = ["declared_tables", "open_engine"]


def open_engine(source: object, policy: Policy) -> Engine:
    """The engine for a source: DuckDB unless another engine accepts it, or it is a dict with sources of several.

    PostgreSQL accepts its URLs, Spark its sessions and URLs, and engines of installed packages what they say (entry
    points of the group ``discreet.engines``). Every table of the policy is checked. Raises `DataError` if the source
    cannot be used, `MissingExtra` if its engine is not installed.
    """
    engine = _engine(source, policy)
    try:
        for table in policy.tables:
            engine.check(table)
    except BaseException:
        engine.close()
        raise
    return engine


def declared_tables(source: object) -> dict[str, Declared]:
    """From each table of a source to its columns and their types, as a policy names them. No row is read.

    A Parquet or CSV file is one table, called like the file; a CSV file declares no types, so its columns are strings.
    Raises `DataError` if the source cannot be used, `MissingExtra` if its engine is not installed.
    """
    choice = factory_for(source)
    if choice is not None:
        declared: Callable[[object], dict[str, Declared]] | None = getattr(choice[0], "declared", None)
        if declared is None:
            raise DataError("the engine of this source does not tell which tables and types it declares")
        return declared(source)
    if not isinstance(source, str | os.PathLike):
        raise DataError(f"a {type(source).__name__} declares no tables; give a path or a URL")
    _check_url(source)
    from discreet.engines.duckdb import declared_tables as in_file

    return in_file(Path(source))


def _engine(source: object, policy: Policy) -> Engine:
    if not isinstance(source, Mapping):
        choice = factory_for(source)
        return _duckdb(source, policy) if choice is None else choice[0].open(source, policy, None)
    known = {name.casefold(): name for name in policy.tables}
    places: dict[Hashable, tuple[EngineFactory, object, list[str]]] = {}
    files: dict[str, object] = {}
    names: dict[str, str] = {}
    for name in map(str, source):
        if (other := names.setdefault(name.casefold(), name)) != name:
            raise DataError(f"table names are case-insensitive, so {other} and {name} are one table; pass one of them")
    for name, value in source.items():
        table, choice = known.get(str(name).casefold()), factory_for(value)
        if table is None or choice is None:
            files[str(name)] = value
        else:
            factory, key = choice
            places.setdefault((id(factory), key), (factory, value, []))[2].append(table)
    if not places:
        return _duckdb(source, policy)
    engines: dict[str, Engine] = {}
    try:
        if files:
            duckdb = _duckdb(files, policy)
            engines |= {known.get(name.casefold(), name): duckdb for name in files}
        for factory, value, tables in places.values():
            engines |= dict.fromkeys(tables, factory.open(value, policy, tables))
    except BaseException:
        Several(engines, policy).close()
        raise
    return Several(engines, policy)


def _duckdb(source: Any, policy: Policy) -> Engine:
    for value in source.values() if isinstance(source, Mapping) else (source,):
        _check_url(value)
    from discreet.engines.duckdb import DuckDB

    return DuckDB(source, policy)


def _check_url(source: object) -> None:
    """Raise `DataError` for a URL that no engine reads, and for a PostgreSQL source that is no URL."""
    if not isinstance(source, str):
        return
    if "password=" in source.lower().replace(" ", ""):
        raise DataError("a PostgreSQL source is a URL such as postgresql://user:password@host:5432/database")
    if "://" in source:
        raise DataError(
            f"a source at {source.partition('://')[0]}:// cannot be read; give a path, a postgresql:// or a spark:// "
            "URL, a Spark session or a frame, or install the package of an engine that reads it"
        )
