"""One specification on every engine: the same integers before noise, and the same refusals in the same words."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from countries import AREAS, LEVELS

import discreet as dp
from discreet import census
from discreet.census import PreparedPublication
from discreet.errors import DiscreetError

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
Opened = Callable[[Any], Any]
ENGINES = ("duckdb", "postgres", "spark")
COLUMNS = {
    "block": {"type": "string"},
    "age": {"type": "int", "bounds": [0, 99], "nullable": False},
    "sex": {"type": "string", "keys": ["F", "M", "X"], "nullable": False},
    "town": {"type": "string"},
    "height": {"type": "float"},
}
SPEC = """\
table = "census_people"
zeros = ["age < 18 AND sex = 'X'"]

[geography]
areas = "areas.csv"
levels = ["state", "county", "block"]

[tables]
total = []
age_sex = ["age", "sex"]
sex = ["sex"]

[cells]
age = [18, 65]

[shares]
all = 1
state = { total = 1, sex = 2 }
block = 3
"""
PLACES = ",".join(LEVELS) + "\n" + "".join(",".join(row) + "\n" for row in zip(*AREAS.values(), strict=True))
HELD = SPEC + "\n[held]\nstate = { N = 500, S = 100 }\n"
MANY = "state,county,block\n" + "".join(f"N,n{i // 100},b{i}\n" for i in range(60_000))

REFUSED = {
    "levels that do not nest": (
        (SPEC, "state,county,block\nN,n1,n11\nS,n1,n12\n"),
        (
            "line 4: geography: the levels do not nest: the county n1 lies in the state N and in S; give each county a "
            "name of its own, or list it under districts"
        ),
    ),
    "an unknown column": (
        (SPEC.replace('["age", "sex"]', '["agee", "sex"]'), PLACES),
        (
            "line 10: tables.age_sex: census_people has no column agee; did you mean age? It has: block, age, sex, "
            "town, height, wide, person"
        ),
    ),
    "an unknown table": (
        (SPEC.replace('"census_people"', '"census_peeple"'), PLACES),
        "line 1: table: the policy has no table census_peeple; did you mean census_people? It has: census_people",
    ),
    "private keys": (
        (SPEC.replace('sex = ["sex"]', 'sex = ["town"]'), PLACES),
        "line 11: tables.sex: census_people.town has no public keys: list them in the policy; cells must be public",
    ),
    "a number without bounds": (
        (SPEC.replace('sex = ["sex"]', 'sex = ["height"]'), PLACES),
        (
            "line 11: tables.sex: census_people.height has no bounds: write its bounds or its keys into the policy, or "
            "leave it out of columns; `discreet suggest` finds them for height"
        ),
    ),
    "whose a row is": (
        (SPEC.replace('sex = ["sex"]', 'sex = ["person"]'), PLACES),
        "line 11: tables.sex: person says whose a row is, and cannot be published; leave it out",
    ),
    "a negative share": (
        (SPEC.replace("block = 3", "block = -3"), PLACES),
        "line 19: shares.block: a share is a number from 0, not -3",
    ),
    "shares of nothing": (
        (SPEC.replace("all = 1\nstate = { total = 1, sex = 2 }\nblock = 3", "all = 0"), PLACES),
        "line 16: shares: some level must have a share above 0",
    ),
    "a share of no level": (
        (SPEC.replace("block = 3", "village = 3"), PLACES),
        "line 19: shares.village: there is no such level; there are all, state, county, block",
    ),
    "rules without a solution": (
        (SPEC.replace("age < 18 AND sex = 'X'", "age >= 0"), PLACES),
        "line 2: zeros: these conditions leave no cell for anybody to be in",
    ),
    "a rule that cuts a cell": (
        (SPEC.replace("age < 18 AND", "age < 30 AND"), PLACES),
        (
            "line 2: zeros: condition 1: \"age < 30 AND sex = 'X'\" holds in a part of a cell; cells are the finest "
            "that there is: cut them there in the specification, as in cells.age = [18, 65]"
        ),
    ),
    "contradicting totals": (
        (HELD.replace("N = 500,", "N = 500, W = 1,"), PLACES),
        "line 22: held.state: it names W, which is no state; give the public total of each state",
    ),
    "totals of two levels": (
        (HELD + "all = { all = 700 }\n", PLACES),
        "line 21: held: hold the totals of one level; those above it follow",
    ),
    "more cells than memory": (
        (SPEC.replace("age = [18, 65]", "age = 1000").replace('"age", "sex"]', '"age", "sex", "wide"]'), MANY),
        (
            "line 8: tables: all columns together have 15,000 cells in each of 60,602 areas, and 268,435,456 are the "
            "most; use coarser cells, fewer columns or larger areas, or publish the areas in parts, as docs/scale.md "
            "does"
        ),
    ),
}


def policy(**unit: Any) -> dict[str, Any]:
    wide = {"wide": {"type": "int", "keys": list(range(50)), "nullable": False}}
    table = {"columns": {**COLUMNS, **wide, "person": {"type": "int"}}, **unit}
    return {"version": "1", "budget": {"rho": 4}, "tables": {"census_people": table}}


def people(rows: int = 600) -> pa.Table:
    """People with blocks that no list has, and without a block; none has more than three rows."""
    draws = np.random.default_rng(5)
    blocks = [*AREAS["block"], "nowhere", "N11", "n11 ", "", None]
    return pa.table({
        "block": pa.array([blocks[i] for i in draws.integers(0, len(blocks), rows)], pa.string()),
        "age": draws.integers(0, 100, rows),
        "sex": draws.choice(["F", "M", "X"], rows),
        "town": draws.choice(["A", "B"], rows),
        "height": draws.uniform(1, 2, rows),
        "wide": draws.integers(0, 50, rows),
        "person": np.arange(rows) // 3,
    })  # fmt: skip


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Opened:
    """Connects one engine to the people under a policy; starts it if it has not been."""

    @contextmanager
    def connect(engine: str, rows: pa.Table, rules: dict[str, Any]) -> Generator[dp.Session]:
        match engine:
            case "duckdb":
                source: Any = {"census_people": rows}
            case "postgres":
                name = request.getfixturevalue("load_postgres")({"census_people": rows})["census_people"]
                schema = name.partition(".")[0]
                source = f"{request.getfixturevalue('postgres')}&options=-csearch_path%3D{schema}"
            case _:
                view = request.getfixturevalue("load_spark")({"census_people": rows})["census_people"]
                source = request.getfixturevalue("spark")
                source.table(view).createOrReplaceTempView("census_people")
        with dp.connect(source, rules) as session:
            yield session

    return lambda engine, rows=None, **unit: connect(engine, people() if rows is None else rows, policy(**unit))


def spec_of(folder: Path, text: str, areas: str) -> census.Spec:
    (folder / "areas.csv").write_text(areas, encoding="utf-8")
    (folder / "country.toml").write_text(text, encoding="utf-8")
    return census.Spec.load(folder / "country.toml")


def by_hand(rows: pa.Table, land: census.Geography) -> list[np.ndarray]:
    """People of each level by age and sex."""
    leaves = np.zeros((land.tree.sizes[-1], 3, 3), np.int64)
    for row in rows.to_pylist():
        if row["block"] in land.names[-1]:
            age = (row["age"] >= 18) + (row["age"] >= 65)
            leaves[land.names[-1].index(row["block"]), age, "FMX".index(row["sex"])] += 1
    return land.tree.sums(leaves)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [{"unit": "rows"}, {"unit": "person", "max_rows": 3}], ids=["rows", "people"])
def test_integers_before_noise_are_those_counted_by_hand(
    opened: Opened, engine: str, unit: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact: list[Any] = []
    real = PreparedPublication.measured

    def measured(prepared: Any, counts: Any, context: Any) -> Any:
        exact.append(counts)
        return real(prepared, counts, context)

    monkeypatch.setattr(PreparedPublication, "measured", measured)
    spec = spec_of(tmp_path, SPEC, PLACES)
    with opened(engine, **unit) as session:
        first = census.publish(session, spec, dp.rho(1))
        assert census.publish(session, spec, dp.rho(1)).to_bytes() == first.to_bytes()
        assert session.remaining == dp.rho(3)
    (counts,) = exact
    expected = by_hand(people(), spec.geography)
    assert set(counts) == {
        *(("all", name) for name in spec.tables), ("state", "total"), ("state", "sex"),
        *(("block", name) for name in spec.tables),
    }  # fmt: skip
    for (level, name), some in counts.items():
        cells = expected[spec.geography.level(level)]
        cells = {"total": cells.sum(axis=(1, 2)), "sex": cells.sum(axis=1), "age_sex": cells}[name]
        assert np.array_equal(some, cells.reshape(len(cells), -1)), (level, name)


JOINED = """\
table = '''
SELECT p.block, CASE WHEN p.age < 18 THEN 'minor' ELSE 'adult' END AS stage, q.sex AS other, p.sex
FROM census_people p JOIN census_people q ON p.person = q.person WHERE q.age >= 50
'''
name = "pairs"

[geography]
areas = "areas.csv"
levels = ["state", "county", "block"]

[tables]
every = ["stage", "other", "sex"]

[shares]
block = 1

[universes.people]
table = "census_people"
column = "block"
tables = { total = [] }
shares = { block = 1 }
"""


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_join_are_the_same_on_every_engine(
    opened: Opened, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact: list[Any] = []
    real = PreparedPublication.measured

    def measured(prepared: Any, counts: Any, payments: Any) -> Any:
        exact.append(counts)
        return real(prepared, counts, payments)

    monkeypatch.setattr(PreparedPublication, "measured", measured)
    spec, rows = spec_of(tmp_path, JOINED, PLACES), people(300)
    with opened(engine, rows, unit="person", max_rows=9) as session:
        census.publish(session, spec, dp.rho(1))
    pairs, everybody = exact
    expected = np.zeros((5, 2, 3, 3), np.int64)
    total = np.zeros((5, 1), np.int64)
    listed, leaves = rows.to_pylist(), spec.geography.names[-1]
    for row in listed:
        if row["block"] not in leaves:
            continue
        total[leaves.index(row["block"])] += 1
        for other in listed:
            if other["person"] == row["person"] and other["age"] >= 50:
                stage, area = int(row["age"] >= 18), leaves.index(row["block"])
                expected[area, stage, "FMX".index(other["sex"]), "FMX".index(row["sex"])] += 1
    assert np.array_equal(everybody["block", "total"], total)
    assert np.array_equal(pairs["block", "every"], expected.reshape(5, -1))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_wrong_is_refused_before_any_charge_in_the_same_words(
    opened: Opened, engine: str, tmp_path: Path
) -> None:
    with opened(engine, unit="person", max_rows=3) as session:
        for number, ((text, areas), words) in enumerate(REFUSED.values()):
            folder = tmp_path / str(number)
            folder.mkdir()
            with pytest.raises(DiscreetError) as error:
                census.publish(session, spec_of(folder, text, areas), dp.rho(1))
            assert str(error.value) == f"{folder / 'country.toml'}, {words}"
        assert session.remaining == dp.rho(4)
        assert census.plan(session, spec_of(tmp_path, SPEC, PLACES), dp.rho(1)).loss == dp.rho(1)
