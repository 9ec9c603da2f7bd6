"""An engine of another package is found by its entry point, alone or beside others, with no edit here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import Engine, EngineFactory, _factories, declared_tables, open_engine
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy

POLICY = {
    "version": "1",
    "budget": {"epsilon": 10**6},
    "tables": {
        name: {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}} for name in ("here", "there")
    },
}
ROWS = pa.table({"x": list(range(10)) * 5})


class Warehouse:
    """Tables at ``warehouse://``, as another package would read them."""

    def __init__(self) -> None:
        self.opened: list[Sequence[str] | None] = []

    def accepts(self, source: object) -> str | None:
        return source if isinstance(source, str) and source.startswith("warehouse://") else None

    def open(self, source: Any, policy: Policy, tables: Sequence[str] | None) -> Engine:
        self.opened.append(tables)
        return DuckDB(dict.fromkeys(policy.tables if tables is None else tables, ROWS), policy)


@pytest.fixture
def warehouse(monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineFactory]:
    factory = Warehouse()

    def points(group: str) -> list[Any]:
        return [SimpleNamespace(load=lambda: factory)] if group == "discreet.engines" else []

    monkeypatch.setattr(_factories, "entry_points", points)
    _factories._others.cache_clear()
    yield factory
    _factories._others.cache_clear()


def test_it_answers_alone_and_beside_others(warehouse: Warehouse) -> None:
    for source, opened in (
        ("warehouse://eu/shop", None),
        ({"here": ROWS, "there": "warehouse://eu/shop"}, ["there"]),
        ({"here": "warehouse://eu/shop", "there": "warehouse://eu/shop"}, ["here", "there"]),
    ):
        with dp.connect(source, POLICY) as session:
            for table in ("here", "there"):
                release = session.sql(f"SELECT COUNT(*) AS n FROM {table}", dp.pure(1000))
                assert abs(release.to_arrow().column("n")[0].as_py() - 50) <= 1
        assert warehouse.opened.pop() == opened and not warehouse.opened


def test_what_it_declares_is_asked_of_it(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dp.DataError, match="does not tell which tables"):
        declared_tables("warehouse://eu/shop")
    monkeypatch.setattr(warehouse, "declared", lambda source: {source: {"x": "int"}}, raising=False)
    assert declared_tables("warehouse://eu/shop") == {"warehouse://eu/shop": {"x": "int"}}
    with pytest.raises(dp.DataError, match="a Table declares no tables"):
        declared_tables(ROWS)


def test_without_the_package_the_source_is_refused() -> None:
    for source in ("warehouse://eu/shop", {"here": ROWS, "there": "warehouse://eu/shop"}):
        with pytest.raises(dp.DataError, match=r"warehouse:// cannot be read.*install"):
            open_engine(source, load_policy(POLICY))
