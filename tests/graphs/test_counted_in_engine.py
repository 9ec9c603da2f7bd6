"""A graph counted in DuckDB: the integers of memory on all small graphs and random ones, and what a query shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from small import labelled

import discreet as dp
from discreet import graphs
from discreet.engines.duckdb._engine import DIALECT, _Scratch
from discreet.engines.sql import stored_edges
from discreet.errors import Cancelled, DataError, ParameterError, QueryError
from discreet.graphs import CountGraph, Graph, SmoothCount
from discreet.graphs._declared import edge_table
from discreet.graphs.counts import Cliques, CountedGraph, Stars, Triangles, count_in_engine, facts_of
from discreet.policy import load_policy
from discreet.query import EdgeRows
from discreet.release import verify_loss

VERTEX = {"type": "int", "bounds": [-3, 296]}
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {"ties": {"unit": "rows", "columns": {"a": VERTEX, "b": VERTEX}}},
    "graphs": {"g": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
}
ROWS = edge_table(load_policy(POLICY), "g").plan.rows


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def counted(connection: duckdb.DuckDBPyConnection, graph: Graph, **which: bool) -> CountedGraph:
    """Ends in either order, each edge twice, and a loop at every vertex."""
    a, b = graph.ends.T
    loops = np.arange(graph.vertices)
    v0, v1 = np.concatenate([a, b, loops]), np.concatenate([b, a, loops])
    connection.register("ties", pa.table({"v0": v0, "v1": v1}))
    request = EdgeRows(ROWS, 0, graph.vertices - 1)
    with stored_edges(_Scratch(connection), DIALECT, request, "", "ties") as edges:
        return count_in_engine(edges, graph.vertices, **which)


def check_same(connection: duckdb.DuckDBPyConnection, graph: Graph) -> None:
    ours, facts = counted(connection, graph, pairs=True, triangles=True), facts_of(graph)
    assert [each.tolist() for each in ours.degree_counts()] == [each.tolist() for each in facts.degree_counts()]
    assert (ours.edges(), ours.triangles()) == (graph.edges, facts.triangles())
    assert ours.other_neighbours().tolist() == facts.other_neighbours().tolist()
    assert ours.common_neighbours().tolist() == facts.common_neighbours().tolist()


def random_graphs(draws: np.random.Generator, count: int) -> Iterator[Graph]:
    """Of even degrees, with hubs, with a clique, and with a star."""
    for i in range(count):
        n = int(draws.integers(5, 90))
        high, low = np.tril_indices(n, -1)
        hubs = draws.random(n) ** 4 if i % 2 else np.full(n, draws.random() / 2)
        there = draws.random(len(high)) < np.maximum(hubs[high], hubs[low])
        pairs = np.column_stack([high, low])[there].tolist()
        if i % 3 == 0:
            pairs += [(a, b) for a in range(n // 2) for b in range(a)]
        if i % 5 == 0:
            pairs += [(n - 1, leaf) for leaf in range(n - 1)]
        yield Graph.from_pairs(np.array(pairs, np.int64).reshape(-1, 2), n)


@pytest.mark.parametrize("n", range(5))
def test_all_graphs_of_few_vertices_are_counted_as_in_memory(connection: duckdb.DuckDBPyConnection, n: int) -> None:
    for graph in labelled(n):
        check_same(connection, graph)


def test_random_graphs_are_counted_as_in_memory(connection: duckdb.DuckDBPyConnection) -> None:
    for graph in random_graphs(np.random.default_rng(5), 30):
        check_same(connection, graph)


class Plain:
    """Answers the queries from a table of all pairs."""

    def __init__(self, graph: Graph) -> None:
        matrix = np.zeros((graph.vertices, graph.vertices), np.int64)
        matrix[tuple(graph.ends.T)] = 1
        order = np.argsort(-graph.degrees(), kind="stable")
        self.matrix = (matrix + matrix.T)[order][:, order]
        self.sizes = self.matrix.sum(axis=1)
        self.paths = self.matrix @ self.matrix

    def degrees(self) -> list[tuple[int, int]]:
        degrees, times = np.unique(self.sizes[self.sizes > 0], return_counts=True)
        return list(zip(degrees.tolist(), times.tolist(), strict=True))

    def triangles(self) -> int:
        return int((self.paths * self.matrix).sum()) // 6

    def joined_hubs(self, most: int) -> list[tuple[int, int]]:
        return [(int(i), int(j)) for i, j in np.argwhere(self.matrix[:most, :most]) if i < j]

    def common(self, higher: range, lower: range) -> list[tuple[int, int]]:
        best: dict[int, int] = {}
        for i, j in np.argwhere(np.triu(self.paths, 1)).tolist():
            if self.sizes[i] in higher and self.sizes[j] in lower:
                others, common = int(self.sizes[i] + self.sizes[j] - 2 * self.matrix[i, j]), int(self.paths[i, j])
                best[common] = max(best.get(common, -1), others)
        return list(best.items())


def test_the_search_gives_what_memory_gives_on_a_hundred_graphs() -> None:
    for graph in random_graphs(np.random.default_rng(9), 100):
        ours, facts = count_in_engine(Plain(graph), graph.vertices, triangles=True), facts_of(graph)
        assert ours.common_neighbours().tolist() == facts.common_neighbours().tolist()
        assert ours.other_neighbours().tolist() == facts.other_neighbours().tolist()
        assert ours.triangles() == facts.triangles()


@pytest.mark.soak
def test_many_random_graphs_are_counted_as_in_memory(connection: duckdb.DuckDBPyConnection) -> None:
    for graph in random_graphs(np.random.default_rng(8), 3000):
        check_same(connection, graph)


@pytest.mark.parametrize("rest", [0, 1, 40])
def test_complete_graphs_take_all_their_vertices(connection: duckdb.DuckDBPyConnection, rest: int) -> None:
    """The first pair that is not joined is behind the first 64 vertices, or there is none."""
    check_same(connection, Graph.from_pairs([(a, b) for a in range(80) for b in range(a)], 80 + rest))


def test_a_star_beside_a_clique_is_searched_in_both(connection: duckdb.DuckDBPyConnection) -> None:
    """The hub of most neighbours is in no pair with many in common, and its leaves are never paired with each other."""
    star, clique = [(0, leaf) for leaf in range(100, 1100)], [(a, b) for a in range(1, 31) for b in range(1, a)]
    graph = Graph.from_pairs([*star, *clique], 1100)
    asked: list[tuple[range, range]] = []

    class Observed(_Scratch):
        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            limits = re.findall(r"(?:dh|dt) >= (\d+) AND (?:dh|dt) < (\d+)", sql)
            if limits:
                asked.append((range(*map(int, limits[0])), range(*map(int, limits[2]))))
            return super().rows(sql)

    a, b = graph.ends.T
    connection.register("ties", pa.table({"v0": a, "v1": b}))
    with stored_edges(Observed(connection), DIALECT, EdgeRows(ROWS, 0, 1099), "", "ties") as edges:
        ours = count_in_engine(edges, graph.vertices, triangles=True)
    assert ours.common_neighbours().tolist() == facts_of(graph).common_neighbours().tolist()
    assert all(higher.start == 512 or lower.start >= 8 for higher, lower in asked)


def test_texts_of_queries_name_public_numbers_and_powers_of_two_alone(connection: duckdb.DuckDBPyConnection) -> None:
    texts: list[str] = []

    class Noted(_Scratch):
        def create(self, name: str, sql: str) -> None:
            texts.append(sql)
            super().create(name, sql)

        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            texts.append(sql)
            return super().rows(sql)

    for graph in random_graphs(np.random.default_rng(11), 12):
        a, b = graph.ends.T
        connection.register("ties", pa.table({"v0": a + 1_000_000, "v1": b + 1_000_000}))
        request = EdgeRows(ROWS, 1_000_000, 1_000_000 + graph.vertices - 1)
        with stored_edges(Noted(connection), DIALECT, request, "", "ties") as edges:
            count_in_engine(edges, graph.vertices, pairs=True, triangles=True)
        public = {0, request.first, request.last, *(2**power for power in range(40))}
        assert {int(each) for text in texts for each in re.findall(r"\b\d+\b", text)} <= public
        texts.clear()


def test_nothing_is_left_in_the_engine(connection: duckdb.DuckDBPyConnection) -> None:
    graph = Graph.from_pairs([(0, 1), (1, 2), (0, 2)])
    counted(connection, graph, triangles=True)
    connection.register("ties", pa.table({"v0": ["not", "numbers"], "v1": ["at", "all"]}))
    with (
        pytest.raises(duckdb.Error),
        stored_edges(_Scratch(connection), DIALECT, EdgeRows(ROWS, 0, 2), "", "ties"),
    ):
        raise AssertionError
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


def ties(*pairs: tuple[Any, Any]) -> dict[str, pa.Table]:
    a, b = zip(*(pairs or [(0, 1), (1, 2), (0, 2), (2, 3), (2, 2), (1, 0)]), strict=True)
    return {"ties": pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())})}


def test_a_session_counts_in_the_engine_and_it_is_the_same_question() -> None:
    with dp.connect(ties(), POLICY) as session:
        near, far = graphs.open(session, "g"), graphs.open(session, "G", counted="engine")
        first = far.count("triangles", spend=dp.pure(1))
        assert near.count("triangles", spend=dp.pure(1)).noisy == first.noisy and session.spent == dp.pure(1)
        degrees = near.degrees(spend=dp.pure(1))
        assert far.degrees(spend=dp.pure(1)).noisy.tolist() == degrees.noisy.tolist() and session.spent == dp.pure(2)
        assert far.count("edges", spend=dp.pure(50)).value == 4
        assert "engine" not in str(first.certificate)
        verify_loss(first.certificate)
        assert far.plan("triangles", spend=dp.pure(1)).explain() == near.plan("triangles", spend=dp.pure(1)).explain()
    exact = {"edges": 4, "density": 4 / 44_850, "largest degree": 3, "global clustering": 0.6}
    with dp.connect(ties(), POLICY | {"budget": {"epsilon": 10_000}}) as session:
        far = graphs.open(session, "g", counted="engine")
        for statistic, value in exact.items():
            off = 0.7 if statistic == "global clustering" else 1e-12
            assert far.count(statistic, spend=dp.pure(60)).value == pytest.approx(value, abs=off)
        assert far.degrees(spend=dp.pure(60)).degrees()[:5].tolist() == [3, 2, 2, 1, 0]


def test_ends_that_are_no_vertices_do_not_count() -> None:
    policy = POLICY | {
        "tables": POLICY["tables"] | {"people": {"unit": "rows", "columns": {"id": {"type": "int", "bounds": [0, 4]}}}},
        "graphs": {"g": POLICY["graphs"]["g"] | {"nodes": "people.id"}},
    }
    rows = ties((0, 1), (1, 0), (None, 2), (2, None), (3, 3), (4, 5), (-1, 2), (-9, 4), (10**12, 1), (2, 4))
    with dp.connect(rows | {"people": pa.table({"id": [0]})}, policy) as session:
        far = graphs.open(session, "g", counted="engine")
        assert far.count("edges", spend=dp.pure(60)).value == 2
        assert far.degrees(spend=dp.pure(30)).degrees().tolist() == [1, 1, 1, 1, 0]


def test_what_an_engine_cannot_count_is_refused_before_the_charge() -> None:
    with dp.connect(ties(), POLICY) as session:
        far = graphs.open(session, "g", counted="engine")
        for statistic in ("components", "degeneracy", "4-cycles", "4-cliques", "average clustering"):
            with pytest.raises(QueryError, match="counted in memory alone"):
                far.count(statistic, spend=dp.pure(1))
        with pytest.raises(QueryError, match="counted in memory alone"):
            far.plan("degree assortativity", spend=dp.pure(1))
        for ask in (far.cuts, far.synthetic, lambda spend: far.mixing("x", spend)):
            with pytest.raises(QueryError, match="into memory"):
                ask(dp.pure(1))
        with pytest.raises(QueryError, match="into memory"):
            far.features(np.zeros((300, 1)), dp.approx(1, 1e-6))
        with pytest.raises(ParameterError, match="'memory' or 'engine'"):
            graphs.open(session, "g", counted="disk")  # type: ignore[arg-type]
        assert session.spent.epsilon() == 0
    key = {"type": "int", "keys": [1, 2]}
    listed = POLICY | {"tables": {"ties": {"unit": "rows", "columns": {"a": key, "b": key}}}}
    with (
        dp.connect(ties(), listed) as session,
        pytest.raises(QueryError, match="number the vertices"),
    ):
        graphs.open(session, "g", counted="engine").count("edges", spend=dp.pure(1))
    people = POLICY | {
        "tables": {"ties": {"unit": "ends", "columns": {"a": VERTEX, "b": VERTEX}}},
        "graphs": {"g": POLICY["graphs"]["g"] | {"protects": "node", "max_degree": 9}},
    }
    with dp.connect(ties(), people) as session:
        with pytest.raises(QueryError, match="protects people"):
            graphs.open(session, "g", counted="engine")
        with pytest.raises(QueryError, match="protects people"):
            session.answer(CountGraph("g", "edges", dp.pure(1), counted="engine"))


def test_an_engine_that_fails_or_is_cancelled_says_nothing_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: BaseException) -> Any:
        def fail(*_: Any) -> Any:
            raise error

        return fail

    with dp.connect(ties(), POLICY) as session:
        far = graphs.open(session, "g", counted="engine")
        for error, raised in ((MemoryError("12,345 bytes"), DataError), (Cancelled("stop"), Cancelled)):
            with monkeypatch.context() as patch:
                patch.setattr("discreet.graphs.counts._in_engine._other_neighbours", failing(error))
                with pytest.raises(raised) as caught:
                    far.count("2-stars", spend=dp.pure(1))
            assert "12,345" not in str(caught.value) and caught.value.__context__ is None
        assert far.count("edges", spend=dp.pure(50)).value == 4
        tables = session._engine._connection.execute("SELECT count(*) FROM duckdb_tables()")  # type: ignore[attr-defined]
        assert tables.fetchall() == [(0,)]


def test_numbers_that_were_not_counted_are_missed() -> None:
    graph = CountedGraph(3, np.array([2]), np.array([3]))
    assert repr(graph) == "<CountedGraph>" and Stars(3).value(graph) == 3
    for ask in (graph.triangles, graph.other_neighbours, graph.common_neighbours):
        with pytest.raises(ParameterError, match="not"):
            ask()
    with pytest.raises(ParameterError, match="3 vertices"):
        Cliques(3, 3).value(graph)
    counts = CountedGraph(3, np.array([2]), np.array([3]), 1, np.array([[1, 1]]), np.array([2, 2]))
    clique = Graph.from_pairs([(0, 1), (1, 2), (0, 2)])
    for statistic in (Triangles(3), Stars(3), Stars(3, 3)):
        mechanism = SmoothCount(statistic, 1)
        assert mechanism.before_noise(counts) == mechanism.before_noise(clique)


def test_edges_are_rows_of_two_numbers() -> None:
    other = {"a": VERTEX, "b": VERTEX, "c": {"type": "string", "keys": ["x"]}}
    policy = load_policy(POLICY | {"tables": {"ties": {"unit": "rows", "columns": other}}})
    from discreet.query import plan_records

    for query in ("SELECT a FROM ties", "SELECT a, b, c FROM ties", "SELECT a, c FROM ties"):
        with pytest.raises(ParameterError, match="two whole numbers"):
            EdgeRows(plan_records(query, policy).rows, 0, 9)
