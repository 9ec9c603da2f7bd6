"""One graph on every engine: the same edges, and so the same integers before noise."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.graphs._declared import EdgeTable
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
def opened(engine: str, request: pytest.FixtureRequest, policy: dict[str, Any]) -> Generator[dp.Session]:
    match engine:
        case "duckdb":
            source: Any = {"graph_ties": rows()}
        case "postgres":
            name = request.getfixturevalue("load_postgres")({"graph_ties": rows()})["graph_ties"]
            source = f"{request.getfixturevalue('postgres')}&options=-csearch_path%3D{name.partition('.')[0]}"
        case _:
            view = request.getfixturevalue("load_spark")({"graph_ties": rows()})["graph_ties"]
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
