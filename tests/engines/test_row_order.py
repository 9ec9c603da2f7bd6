"""The order in which rows lie changes no sum: what ties where rows are chosen is alike in all that is computed of it.

The two zeros compare and hash alike, but powers with a negative exponent tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pytest

from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.policy import Policy, load_policy
from discreet.query import make_plan
from discreet.query.measures import _footprint

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
Place = Callable[[Mapping[str, pa.Table]], Engine]
BOUNDS = {"type": "float", "bounds": [-9, 9]}
POLICY = load_policy(
    {
        "version": "1",
        "tables": {
            "a": {
                "unit": "u",
                "max_rows": 2,
                "columns": {"z": BOUNDS, "s": BOUNDS, "y": BOUNDS},
            },
            "b": {"unit": "u", "max_rows": 2, "columns": {"x": {"type": "int", "bounds": [0, 9]}}},
        },
    }
)
B = pa.table({"u": [1], "x": [3]})
STORED = {"float": pa.float32(), "double": pa.float64(), "text": pa.string()}
CHOSEN = "SELECT SUM(b.x) AS s FROM {} AS a JOIN b ON a.u = b.u WHERE POWER(a.z, a.y) < 0"
ZEROS = [(0.0, sign, -1.0) for sign in (1.0, 1.0, 1.0, -1.0, -1.0, -1.0)]
"""Of which the products are three of each zero."""
QUERIES = {
    "stored": (CHOSEN.format("a"), [(0.0, 1.0, -1.0), (0.0, 1.0, -1.0), (-0.0, 1.0, -1.0), (-0.0, 1.0, -1.0)]),
    "computed": (CHOSEN.format("(SELECT u, z * s AS z, y FROM a)"), ZEROS),
    "stacked": (
        CHOSEN.format("(SELECT u, z * s AS z, y FROM a UNION ALL SELECT u, z, y FROM a WHERE s > 5)"),
        ZEROS,
    ),
}


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("spark", marks=pytest.mark.spark),
    ]
)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Makes an engine over tables, in which a join takes two rows of a person."""
    monkeypatch.setattr(_footprint, "_MOST_ROWS", 2)
    engines: list[Engine] = []
    known: dict[str, Callable[[Mapping[str, pa.Table]], Engine]] = {
        "duckdb": lambda tables: DuckDB(tables, POLICY),
        "postgres": lambda tables: PostgreSQL(
            request.getfixturevalue("postgres"), POLICY, request.getfixturevalue("load_postgres")(tables)
        ),
        "spark": lambda tables: Spark(
            request.getfixturevalue("spark"), POLICY, request.getfixturevalue("load_spark")(tables)
        ),
    }

    def engine(tables: Mapping[str, pa.Table]) -> Engine:
        engines.append(known[request.param](tables))
        for table in tables:
            engines[-1].check(table)
        return engines[-1]

    yield engine
    for each in engines:
        each.close()


def _sums(place: Place, policy: Policy, query: str, rows: list[tuple[float, ...]], kind: pa.DataType) -> object:
    z, s, y = zip(*rows, strict=True)
    values = list(map(str, z)) if kind == pa.string() else list(z)
    table = pa.table({"u": [1] * len(rows), "z": pa.array(values, kind), "s": list(s), "y": list(y)})
    bounded = make_plan(query, policy).levels[0].bounded
    return [(group.key, group.units, group.sums) for group in place({"a": table, "b": B}).run(bounded, bytes(16))]


@pytest.mark.sampled
@pytest.mark.parametrize("name", QUERIES)
def test_rows_in_any_order_have_the_same_sums(place: Place, name: str) -> None:
    query, rows = QUERIES[name]
    orders = (rows, rows[::-1], rows[::2] + rows[1::2])
    assert len({str(_sums(place, POLICY, query, order, pa.float64())) for order in orders}) == 1


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["float", "text"])
def test_however_zeros_are_stored(place: Place, kind: str) -> None:
    query, rows = QUERIES["stored"]
    orders = (rows, rows[::-1])
    assert len({str(_sums(place, POLICY, query, order, STORED[kind])) for order in orders}) == 1
