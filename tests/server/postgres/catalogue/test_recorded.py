"""Every query that clients were seen to send is answered as a real PostgreSQL with the same empty tables does.

Compared are the names and types of the columns, and the texts of all values; the rows as a multiset, and their order
where the query says one. Not compared are the numbers of objects that are not built in, for which the objects stand,
and where arrays begin to count, which one client asks by a cast of oidvector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from recorded import OBJECTS, POLICY, Recorded, answers, compact, ours, recorded

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.postgres.catalogue import Catalogue

QUERIES = recorded()
VOLATILE = re.compile(r"\bversion\(\)|\bnow\(\)", re.IGNORECASE)
"""What names the server's build, or the time: only the columns are compared."""
CUT = {("psql_completion", 13): "LIMIT without ORDER BY: any 1,000 rows"}
TIES = {("asyncpg", 2): "ORDER BY the depth alone"}
LEFT_OUT = {("psql", 76): ("Size", "a real database has a size")}
ORDERED = re.compile(r"\border\s+by\b(?!.*\))", re.IGNORECASE | re.DOTALL)


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Catalogue]:
    made = Catalogue("clinic", load_policy(POLICY), "alice")
    yield made
    made.close()


@pytest.fixture(scope="module")
def names(catalogue: Catalogue) -> Mapping[int, str]:
    table = catalogue.answer(OBJECTS)
    assert table is not None
    return {row["oid"]: row["name"] for row in table.to_pylist()}


def test_there_are_texts_of_many_clients() -> None:
    assert sum(query.client != "by_hand" for query in QUERIES) >= 500
    assert len({query.client for query in QUERIES} - {"by_hand"}) == 15
    assert len({re.sub(r"\s+", " ", query.text) for query in QUERIES}) == len(QUERIES)


@pytest.mark.parametrize("client", sorted({query.client for query in QUERIES}))
def test_each_is_answered_as_a_real_server_does(client: str, catalogue: Catalogue, names: Mapping[int, str]) -> None:
    stored = answers(client)
    wrong = [
        f"{query.client} {query.number}: {problem}"
        for query in QUERIES
        if query.client == client and (problem := difference(query, stored[query.number], catalogue, names))
    ]
    assert not wrong, "\n".join(wrong)


def difference(query: Recorded, wanted: Any, catalogue: Catalogue, names: Mapping[int, str]) -> str:
    """How an answer differs from the real server's; empty where it does not."""
    place = (query.client, query.number)
    try:
        given = ours(catalogue, query, names)
    except QueryError as error:
        return "" if "error" in wanted else str(error)
    if "error" in wanted:
        return f"answered, and a real server says {wanted['error']}"
    if given["columns"] != wanted["columns"]:
        return f"columns {given['columns']}, not {wanted['columns']}"
    if VOLATILE.search(query.text):
        return ""
    if place in CUT:
        return "" if compact(given)["count"] == wanted["count"] else "another number of rows"
    if place in LEFT_OUT:
        column = [name for name, _ in given["columns"]].index(LEFT_OUT[place][0])
        given, wanted = ({**each, "rows": [drop(row, column) for row in each["rows"]]} for each in (given, wanted))
    if "rows" not in wanted:
        wanted = {name: value for name, value in wanted.items() if name != "parameters"}
        return "" if compact(given) == wanted else f"{compact(given)}, not {wanted}"
    ordered = ORDERED.search(query.text) is not None and place not in TIES
    mine, theirs = given["rows"], wanted["rows"]
    if mine == theirs if ordered else Counter(map(tuple, mine)) == Counter(map(tuple, theirs)):
        return ""
    return f"rows {mine[:3]} …, not {theirs[:3]} …"


def test_parameters_and_columns_are_described_as_a_real_server_does(
    catalogue: Catalogue, names: Mapping[int, str]
) -> None:
    described = 0
    for query in QUERIES:
        wanted = answers(query.client)[query.number]
        if "error" in wanted:
            continue
        text, _ = query.numbered({name: number for number, name in names.items()})
        given = catalogue.describe(text, len(query.parameters))
        assert given is not None
        assert list(given.parameters) == wanted.get("parameters", []), (query.client, query.number)
        assert [list(each) for each in given.columns] == wanted["columns"], (query.client, query.number)
        described += bool(given.parameters)
    assert described >= 100


def drop(row: list[Any], column: int) -> list[Any]:
    return row[:column] + row[column + 1 :]


@pytest.mark.soak
@pytest.mark.postgres
def test_the_stored_answers_are_a_real_servers() -> None:
    from ask_real_server import ask_all
    from real_server import real_server

    with real_server(load_policy(POLICY)) as connection:
        for query, answer in ask_all(connection):
            if not VOLATILE.search(query.text) and (query.client, query.number) not in CUT | LEFT_OUT:
                assert compact(answer) == answers(query.client)[query.number], (query.client, query.number)


@pytest.mark.soak
@pytest.mark.postgres
def test_the_built_in_rows_are_a_real_servers(tmp_path: Path) -> None:
    import snapshot

    target = tmp_path / "builtin.jsonl.gz"
    snapshot.write(target)
    assert target.read_bytes() == snapshot.TARGET.read_bytes()
