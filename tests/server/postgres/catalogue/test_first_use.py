"""The database of a catalogue is made by the first query that asks it, once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.postgres.catalogue import Catalogue
from discreet.server.postgres.catalogue._database import Database

POLICY = load_policy(
    {"version": "1", "tables": {"visits": {"unit": "rows", "columns": {"cost": {"type": "float", "bounds": [0, 9]}}}}}
)
QUERY = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname = 'visits'"


def test_many_who_ask_first_wait_for_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = Database._load_all

    def counted(database: Database) -> None:
        loads.append(threading.get_ident())
        load(database)

    monkeypatch.setattr(Database, "_load_all", counted)
    catalogue = Catalogue("shop", POLICY, "")
    assert catalogue.describe(QUERY) is not None
    assert catalogue.answer("SELECT COUNT(*) FROM visits") is None
    assert loads == []
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda role: catalogue.for_role(role).answer(QUERY), "abcdefgh"))
    assert [answer and answer.to_pylist() for answer in answers] == [[{"relname": "visits"}]] * 8
    assert len(loads) == 1
    catalogue.close()


def test_one_that_was_closed_before_its_first_query_says_so() -> None:
    catalogue = Catalogue("shop", POLICY, "")
    catalogue.close()
    with pytest.raises(QueryError, match="closed"):
        catalogue.answer(QUERY)
