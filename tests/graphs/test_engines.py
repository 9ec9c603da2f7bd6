"""One graph on every engine, read or counted there: the same edges, and so the same integers before noise."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.errors import DataError
from discreet.graphs._declared import EdgeTable
from discreet.graphs.counts import CountedGraph, facts_of
from discreet.graphs.node._table import PeopleTable

NAMES = ["ann", "bob", "cy", "dee", "eve", "flo"]
COLUMNS = {
    "a": {"type": "int", "bounds": [0, 29]},
    "b": {"type": "int", "bounds": [0, 29]},
    "x": {"type": "string", "keys": NAMES},
    "y": {"type": "string", "keys": NAMES[::-1]},
    "s": {"type": "string"},
    "t": {"type": "string"},
}
LONG = "é" * 124
TEXTS = ["", "Ann", "ann", "ann ", "é", "e\u0301", "ß", "SS", LONG, LONG + "e"]
"""Each is another person, however alike they look: the longest has 249 bytes."""
CUT = [LONG + "ee", "x" * 250, "x" * 249 + "é", "𝔸" * 300]
"""Too long to be told apart where texts are cut, and so nobody."""
POLICY = {
    "version": "1",
    "budget": {"epsilon": 1000},
    "tables": {"graph_ties": {"unit": "rows", "columns": COLUMNS}},
    "graphs": {
        "numbers": {"edges": "graph_ties", "ends": ["a", "b"], "protects": "edge"},
        "names": {"edges": "graph_ties", "ends": ["x", "y"], "protects": "edge"},
    },
}


def rows() -> pa.Table:
    """With loops, repeats, nulls, and ends that are no vertices."""
    draws = np.random.default_rng(4)
    ends = [[None if i == 33 else int(i) - 1 for i in draws.integers(0, 34, 400)] for _ in range(2)]
    names = [[[*NAMES, "gil", None, "Ann"][i] for i in draws.integers(0, 9, 400)] for _ in range(2)]
    texts = [[[*TEXTS, *CUT, None][i] for i in draws.integers(0, 15, 400)] for _ in range(2)]
    columns = {"a": pa.array(ends[0], pa.int64()), "b": pa.array(ends[1], pa.int64())}
    return pa.table(columns | {"x": names[0], "y": names[1], "s": texts[0], "t": texts[1]})


def by_hand(low: str, high: str, vertices: list[Any]) -> list[list[int]]:
    edges = set()
    for row in rows().to_pylist():
        if row[low] in vertices and row[high] in vertices and row[low] != row[high]:
            edges.add(tuple(sorted((vertices.index(row[low]), vertices.index(row[high])))))
    return [list(edge) for edge in sorted(edges)]


PEOPLE = POLICY | {
    "tables": {"graph_ties": {"unit": "ends", "columns": COLUMNS}},
    "graphs": {
        "numbers": {"edges": "graph_ties", "ends": ["a", "b"], "protects": "node", "max_degree": 30},
        "names": {"edges": "graph_ties", "ends": ["x", "y"], "protects": "node", "max_degree": 6},
        "texts": {"edges": "graph_ties", "ends": ["s", "t"], "protects": "node", "max_degree": 6},
    },
}


@contextmanager
def opened(
    engine: str, request: pytest.FixtureRequest, policy: dict[str, Any], table: pa.Table | None = None
) -> Generator[dp.Session]:
    ties = rows() if table is None else table
    match engine:
        case "duckdb":
            source: Any = {"graph_ties": ties}
        case "postgres":
            name = request.getfixturevalue("load_postgres")({"graph_ties": ties})["graph_ties"]
            source = f"{request.getfixturevalue('postgres')}&options=-csearch_path%3D{name.partition('.')[0]}"
        case _:
            view = request.getfixturevalue("load_spark")({"graph_ties": ties})["graph_ties"]
            source = request.getfixturevalue("spark")
            source.table(view).createOrReplaceTempView("graph_ties")
    with dp.connect(source, policy) as session:
        yield session


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_edges_are_those_counted_by_hand(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[graphs.Graph] = []
    real = EdgeTable.read

    def reading(table: EdgeTable, context: Any) -> graphs.Graph:
        read.append(real(table, context))
        return read[-1]

    monkeypatch.setattr(EdgeTable, "read", reading)
    with opened(engine, request, POLICY) as session:
        for name in ("numbers", "names"):
            graphs.open(session, name).count("triangles", spend=dp.pure(1))
    numbers, names = read
    assert numbers.ends.tolist() == by_hand("a", "b", list(range(30)))
    assert names.ends.tolist() == by_hand("x", "y", NAMES)
    assert (numbers.vertices, names.vertices) == (30, 6)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_people_and_their_edges_are_those_counted_by_hand(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[graphs.Graph, list[Any]]] = []
    real = PeopleTable.read

    def reading(table: PeopleTable, context: Any) -> tuple[graphs.Graph, list[Any]]:
        read.append(real(table, context))
        return read[-1]

    monkeypatch.setattr(PeopleTable, "read", reading)
    with opened(engine, request, PEOPLE) as session:
        for name in ("numbers", "names", "texts"):
            graphs.open(session, name).count("edges", spend=dp.pure(1))
    (numbers, people), (other, names), (last, texts) = read
    assert people == list(range(30)) and names == NAMES
    assert numbers.ends.tolist() == by_hand("a", "b", people)
    assert other.ends.tolist() == by_hand("x", "y", names)
    assert texts == sorted(TEXTS, key=str.encode) and last.ends.tolist() == by_hand("s", "t", texts)


def hubs() -> tuple[pa.Table, graphs.Graph]:
    """A clique of more vertices than are looked at first, a star that overlaps it, and edges among the rest."""
    draws = np.random.default_rng(6)
    clique = [(a, b) for a in range(70) for b in range(a)]
    star = [(69, leaf) for leaf in range(100, 260)]
    pairs = [*clique, *star, *draws.integers(0, 300, (500, 2)).tolist()]
    a, b = np.array(pairs).T
    table = pa.table({"a": a - 7, "b": b - 7})
    return table, graphs.Graph.from_pairs(pairs, 300)


def counted_by(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch, name: str, statistic: str = "global clustering"
) -> CountedGraph:
    counts: list[CountedGraph] = []
    real = EdgeTable.count

    def counting(table: EdgeTable, context: Any, **which: bool) -> CountedGraph:
        counts.append(real(table, context, **which))
        return counts[-1]

    with monkeypatch.context() as patch:
        patch.setattr(EdgeTable, "count", counting)
        graphs.open(session, name, counted="engine").count(statistic, spend=dp.pure(2))
    return counts[0]


def check_same(counted: CountedGraph, graph: graphs.Graph) -> None:
    facts = facts_of(graph)
    assert [each.tolist() for each in counted.degree_counts()] == [each.tolist() for each in facts.degree_counts()]
    assert counted.sorted_degrees().tolist() == sorted(graph.degrees().tolist(), reverse=True)
    assert (counted.vertices, counted.edges(), counted.triangles()) == (graph.vertices, graph.edges, facts.triangles())
    assert counted.other_neighbours().tolist() == facts.other_neighbours().tolist()
    assert counted.common_neighbours().tolist() == facts.common_neighbours().tolist()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_engines_count_what_is_counted_in_memory(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(engine, request, POLICY) as session:
        graph = graphs.Graph.from_pairs(by_hand("a", "b", list(range(30))), 30)
        check_same(counted_by(session, monkeypatch, "numbers"), graph)
    wide = {"type": "int", "bounds": [-7, 292]}
    tables = {"graph_ties": {"unit": "rows", "columns": {"a": wide, "b": wide}}}
    policy = POLICY | {"tables": tables, "graphs": {"numbers": POLICY["graphs"]["numbers"]}}
    table, graph = hubs()
    with opened(engine, request, policy, table) as session:
        check_same(counted_by(session, monkeypatch, "numbers"), graph)
    if engine != "spark":  # where it takes a while
        with opened(engine, request, policy, table.slice(0, 0)) as session:
            check_same(counted_by(session, monkeypatch, "numbers"), graphs.Graph(300, np.empty((0, 2), np.int64)))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_what_fails_in_an_engine_leaves_nothing_there(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise MemoryError("of 123,456 private bytes")

    with opened(engine, request, POLICY) as session:
        with monkeypatch.context() as patch:
            patch.setattr("discreet.engines.sql._edges.triangles_sql", lambda: "SELECT count(*) AS n FROM nowhere")
            with pytest.raises(DataError, match="could not finish") as first:
                counted_by(session, patch, "numbers")
            patch.setattr("discreet.graphs.counts._in_engine._common_neighbours", failing)
            with pytest.raises(DataError, match="could not finish") as second:
                counted_by(session, patch, "numbers", "triangles")
        for error in (first.value, second.value):
            assert error.__context__ is None and "nowhere" not in str(error) and "123" not in str(error)
        stars = counted_by(session, monkeypatch, "numbers", "2-stars")  # after failures, in tables anew
        assert stars.edges() == len(by_hand("a", "b", list(range(30)))) and stars.closed is None
        if engine == "postgres":
            graphs.open(session, "numbers").count("edges", spend=dp.pure(1))
            assert session._engine._connection.read_only  # type: ignore[attr-defined]
        if engine == "spark":
            assert not request.getfixturevalue("spark").sparkContext._jsc.getPersistentRDDs()
            assert session._engine._session._own.catalog().listTables().count() == 1  # type: ignore[attr-defined]


def test_a_role_without_temporary_tables_is_refused_with_the_remedy(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.engines.postgres._records.Scratch.is_allowed", lambda _: False)
    with (
        opened("postgres", request, POLICY) as session,
        pytest.raises(DataError, match="GRANT TEMPORARY ON DATABASE") as refused,
    ):
        counted_by(session, monkeypatch, "numbers")
    assert "stays spent" in str(refused.value)
