"""All marginals of a request in one pass: plain counts of the same rows, on every engine."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import discreet as dp
from discreet.engines import Engine, _marginals, _shards
from discreet.engines._marginals import MarginalCounts, cover
from discreet.engines._open import open_engine
from discreet.engines.duckdb import _marginals as duckdb_marginals
from discreet.errors import Cancelled, DataError, ParameterError, QueryError
from discreet.policy import Policy, load_policy
from discreet.query import BoundedAggregate, Count, Marginals, make_plan, plan_suggestion
from discreet.release import Cancellation, ReleaseContext, Terms, current_question

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

from outside import Histogram, HistogramRelease, PreparedHistogram

SALT = b"sixteen bytes of"
DAY = dt.date(2024, 1, 1)
MIDNIGHT = dt.datetime(2024, 1, 1)  # noqa: DTZ001
FAR = [-(2**62), 0, 5, 2**62]
COLUMNS: Mapping[str, Any] = {
    "s": {"type": "string", "keys": ["b", "ä'\"\\", "a"]},
    "n": {"type": "int", "keys": [3, 1, 7]},
    "far": {"type": "int", "keys": FAR},
    "flag": {"type": "bool"},
    "sure": {"type": "int", "keys": [0, 1], "nullable": False},
    "age": {"type": "int", "bounds": [10, 14]},
    "day": {"type": "date", "bounds": ["2024-01-01", "2024-01-04"]},
    "at": {"type": "timestamp", "bounds": ["2024-01-01 00:00:00", "2024-01-01 03:00:00"]},
    "x": {"type": "float", "bounds": [0, 10]},
}
CELL = "CASE WHEN x < 2 THEN 0 WHEN x < 7 THEN 1 WHEN x IS NULL THEN 2 ELSE 3 END"
HOUR = "DATE_TRUNC('hour', at)"
WORD = "CASE WHEN flag THEN 'yes' WHEN NOT flag THEN 'no' END"
KEYS = ("s", "n", "far", "flag", "age", "day", HOUR, CELL, WORD, "sure")
Row = dict[str, Any]
Tables = dict[str, pa.Table]


def policy_of(caps: Mapping[str, Any]) -> Policy:
    return load_policy({"version": "1", "tables": {"t": {**caps, "columns": dict(COLUMNS)}}})


BY_ROWS = policy_of({"unit": "rows"})
BY_PERSON = policy_of({"unit": "person", "max_rows": 2})


def table_of(rows: Sequence[Row]) -> pa.Table:
    types = {
        "person": pa.int64(), "s": pa.string(), "n": pa.int64(), "far": pa.int64(), "flag": pa.bool_(),
        "sure": pa.int64(), "age": pa.int64(), "day": pa.date32(), "at": pa.timestamp("us"), "x": pa.float64(),
    }  # fmt: skip
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


def bounded_of(policy: Policy, keys: Sequence[str], where: str = "") -> BoundedAggregate:
    """The rows by all keys: more combinations than an answer could have."""
    each = [make_plan(f"SELECT COUNT(*) AS n FROM t {where} GROUP BY {key}", policy).levels[0].bounded for key in keys]
    return replace(
        each[0],
        keys=tuple(bounded.keys[0] for bounded in each),
        columns={name: known for bounded in each for name, known in bounded.columns.items()},
        used=frozenset(name for bounded in each for name in bounded.used),
        measures=(),
        max_groups=None,
        count_units=False,
    )


def request_of(policy: Policy, keys: Sequence[str], where: str = "", merged: Sequence[Any] = ()) -> Marginals:
    """All marginals of up to three of the keys."""
    bounded = bounded_of(policy, keys, where)
    sets = [each for width in range(4) for each in itertools.combinations(range(len(keys)), width)]
    return Marginals(bounded, tuple(sets), tuple(merged))


def some_rows(dice: random.Random, count: int, people: int) -> list[Row]:
    def one_of(*values: Any) -> Any:
        return dice.choice([*values, None])

    return [
        {
            "person": one_of(*range(people)),
            "s": one_of("a", "b", "ä'\"\\", "c", "A"),
            "n": one_of(1, 3, 7, 2, -(2**63)),
            "far": one_of(*FAR, 4),
            "flag": one_of(True, False),
            "sure": one_of(0, 1, 2),
            "age": one_of(9, 10, 12, 14, 10**18),
            "day": one_of(DAY - dt.timedelta(7), DAY, DAY + dt.timedelta(2), DAY + dt.timedelta(7)),
            "at": one_of(*(MIDNIGHT + dt.timedelta(hours=hours, minutes=17) for hours in (0, 1, 2, 23))),
            "x": one_of(-1.0, 1.0, 2.0, 6.9, 7.0, float("nan"), 1e300),
        }
        for _ in range(count)
    ]


def clamped(value: Any, low: Any, high: Any) -> Any:
    return None if value is None else min(max(value, low), high)


def cell(row: Row) -> int:
    x = None if row["x"] is None or np.isnan(row["x"]) else clamped(row["x"], 0, 10)
    return 2 if x is None else 0 if x < 2 else 1 if x < 7 else 3


def hour(row: Row) -> Any:
    at = clamped(row["at"], MIDNIGHT, MIDNIGHT + dt.timedelta(hours=3))
    return None if at is None else at.replace(minute=0)


PLAIN: Mapping[str, Callable[[Row], Any]] = {
    "s": lambda row: row["s"],
    "n": lambda row: row["n"],
    "far": lambda row: row["far"],
    "flag": lambda row: row["flag"],
    "sure": lambda row: row["sure"],
    "age": lambda row: clamped(row["age"], 10, 14),
    "day": lambda row: clamped(row["day"], DAY, DAY + dt.timedelta(3)),
    HOUR: hour,
    CELL: cell,
    WORD: lambda row: None if row["flag"] is None else "yes" if row["flag"] else "no",
}
"""What each key is of a row."""


def plain(request: Marginals, rows: Sequence[Row], keys: Sequence[str]) -> list[NDArray[np.int64]]:
    """The marginals of rows that all count, one by one."""
    counts = [np.zeros(request.shape(each), np.int64) for each in request.sets]
    for row in rows:
        values = [PLAIN[key](row) for key in keys]
        public = [list(key.values or ()) for key in request.bounded.keys]
        if any(value not in known for value, known in zip(values, public, strict=True)):
            continue
        places = [known.index(value) for value, known in zip(values, public, strict=True)]
        cells = [p if m is None else m[p] for p, m in zip(places, request.merged, strict=True)]
        for each, some in zip(request.sets, counts, strict=True):
            some[tuple(cells[i] for i in each)] += 1
    return counts


def counted(engine: Engine, request: Marginals, salt: bytes = SALT) -> list[NDArray[np.int64]]:
    engine.accept(request.bounded)
    counts = engine.count_marginals(request, salt)
    assert [each.shape for each in counts] == [request.shape(each) for each in request.sets]
    assert all(each.dtype == np.int64 and each.flags.c_contiguous for each in counts)
    return list(counts)


def same(one: Sequence[NDArray[np.int64]], other: Sequence[NDArray[np.int64]]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def opened(rows: Sequence[Row], policy: Policy) -> Engine:
    engine = open_engine({"t": table_of(rows)}, policy)
    engine.check("t")
    return engine


def joint(engine: Engine, request: Marginals, salt: bytes) -> list[NDArray[np.int64]]:
    """The marginals of the groups that `run` counts, which are by all keys at once."""
    groups = engine.run(replace(request.bounded, measures=(Count(None),)), salt)
    counts = [np.zeros(request.shape(each), np.int64) for each in request.sets]
    places = [{value: i for i, value in enumerate(key.values or ())} for key in request.bounded.keys]
    for group in groups:
        if any(value not in known for value, known in zip(group.key, places, strict=True)):
            assert group.sums == (0,) or not group.key
            continue
        at = [known[value] for value, known in zip(group.key, places, strict=True)]
        cells = [p if m is None else m[p] for p, m in zip(at, request.merged, strict=True)]
        for each, some in zip(request.sets, counts, strict=True):
            some[tuple(cells[i] for i in each)] += group.sums[0]
    return counts


@pytest.fixture(params=[False, True], ids=["SQL", "packed"])
def plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whether rows of people are packed, however few they are."""
    real = duckdb_marginals._packed

    used: list[bool] = []

    def packed(*arguments: Any) -> Any:
        counts = real(*arguments)
        used.append(counts is not None)
        return counts

    monkeypatch.setattr(duckdb_marginals, "_packed", packed)
    monkeypatch.setattr(duckdb_marginals, "_FEW", -1 if request.param else 2**62)
    yield
    assert not used or any(used) == request.param


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sets(st.sampled_from(KEYS[:-1]), min_size=1), st.integers(0, 40))
def test_rows_are_counted_as_one_would_by_hand(seed: int, chosen: set[str], count: int) -> None:
    keys = sorted(chosen)
    rows = some_rows(random.Random(seed), count, 3)
    request = request_of(BY_ROWS, keys)
    engine = opened(rows, BY_ROWS)
    assert same(counted(engine, request), plain(request, rows, keys))
    engine.close()


def test_nulls_that_the_policy_rules_out_do_not_count() -> None:
    rows = some_rows(random.Random(1), 200, 3)
    request = request_of(BY_ROWS, ["sure", "flag"])
    engine = opened(rows, BY_ROWS)
    assert same(counted(engine, request), plain(request, rows, ["sure", "flag"]))
    assert 0 < counted(engine, request)[0] < 200


def test_where_and_merged_cells() -> None:
    rows = some_rows(random.Random(2), 300, 3)
    keys = ["s", "age", CELL]
    request = request_of(BY_ROWS, keys, "WHERE n > 1", [(0, 1, 0), None, (1, 0, 1, 1)])
    assert request.sizes == (2, len(request.bounded.keys[1].values or ()), 2)
    engine = opened(rows, BY_ROWS)
    assert same(counted(engine, request), plain(request, [r for r in rows if r["n"] and r["n"] > 1], keys))


def test_cells_that_a_suggestion_computes() -> None:
    rows = some_rows(random.Random(3), 300, 3)
    bounded = plan_suggestion(BY_ROWS, "t", "x", dp.pure(1)).levels[0].bounded
    request = Marginals(replace(bounded, measures=()), ((), (0,)))
    engine = opened(rows, BY_ROWS)
    total, by_cell = counted(engine, request)
    assert total == by_cell.sum() == sum(row["x"] is not None and not np.isnan(row["x"]) for row in rows)
    assert same([total, by_cell], joint(engine, request, SALT))


def test_caps_keep_the_rows_that_sums_are_of(plan: None) -> None:
    for seed in range(4):
        dice = random.Random(seed)
        rows = some_rows(dice, 400, 40)
        request = request_of(BY_PERSON, dice.sample(KEYS, 4), merged=[None] * 4)
        engine, salt = opened(rows, BY_PERSON), dice.randbytes(16)
        counts = counted(engine, request, salt)
        assert same(counts, joint(engine, request, salt))
        assert 0 < counts[0] <= 80
        engine.close()


def test_all_marginals_are_of_the_same_rows(plan: None) -> None:
    engine = opened(some_rows(random.Random(5), 300, 20), BY_PERSON)
    request = request_of(BY_PERSON, ["s", "flag", "age"])
    counts = dict(zip(request.sets, counted(engine, request), strict=True))
    for one, other in itertools.product(request.sets, repeat=2):
        if set(one) < set(other):
            beside = tuple(i for i, key in enumerate(other) if key not in one)
            assert np.array_equal(counts[other].sum(axis=beside), counts[one])


def moves(policy: Policy, seed: int) -> None:
    dice = random.Random(seed)
    rows, most = some_rows(dice, 60, 6), policy.tables["t"].rows_per_unit
    request = request_of(policy, dice.sample(KEYS, 3))
    salt, gone = dice.randbytes(16), dice.randrange(6)
    sides: list[list[NDArray[np.int64]]] = []
    for side in (rows, [row for row in rows if row["person"] != gone]):
        engine = opened(side, policy)
        sides.append(counted(engine, request, salt))
        engine.close()
    assert all(np.abs(a - b).sum() <= most and (a >= b).all() for a, b in zip(*sides, strict=True))


def test_a_person_moves_each_marginal_by_the_cap_at_most(plan: None) -> None:
    for seed in range(10):
        moves(BY_PERSON, seed)


@pytest.mark.soak
def test_a_person_moves_each_marginal_by_the_cap_at_most_in_many_tables(plan: None) -> None:
    for seed in range(2_000):
        moves(policy_of({"unit": "person", "max_rows": 1 + seed % 4}), seed)


def test_wide_requests_fill_several_words(plan: None) -> None:
    names = [f"c{i}" for i in range(40)]
    columns = {name: {"type": "int", "keys": list(range(7))} for name in names}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "person", "max_rows": 3, "columns": columns}}})
    dice = np.random.default_rng(0)
    cells = {name: dice.integers(0, 7, 500) for name in names}
    engine = open_engine({"t": pa.table({"person": np.arange(500) // 3, **cells})}, policy)
    request = Marginals(bounded_of(policy, names), tuple(itertools.combinations(range(40), 2)))
    counts = counted(engine, request)
    for (i, j), some in zip(request.sets, counts, strict=True):
        pairs = np.bincount(cells[names[i]] * 7 + cells[names[j]], minlength=49)
        assert np.array_equal(some.ravel(), pairs)


def _split(request: Marginals, counts: Callable[..., Any]) -> Any:
    """As if a request failed for all units, and for one of the shards of the first level."""

    def fails(shard: _shards.Shard) -> bool:
        return shard == _shards.ALL or shard == _shards.Shard(3, 8)

    return _shards.counts_in_shards(request, lambda shard: None if fails(shard) else counts(shard))


def in_shards(engine: Engine, module: str, request: Marginals, patch: pytest.MonkeyPatch) -> list[NDArray[np.int64]]:
    with patch.context() as patched:
        patched.setattr(f"discreet.engines.{module}._engine.counts_in_shards", _split)
        return counted(engine, request)


@pytest.mark.parametrize("policy", [BY_ROWS, BY_PERSON], ids=["rows", "people"])
def test_shards_add_up(policy: Policy, plan: None, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(some_rows(random.Random(6), 300, 30), policy)
    request = request_of(policy, ["s", "flag", "age"])
    assert same(in_shards(engine, "duckdb", request, monkeypatch), counted(engine, request))


def test_without_keys_or_sets_there_is_a_number_or_nothing(plan: None) -> None:
    rows = some_rows(random.Random(14), 300, 200)
    engine = opened(rows, BY_PERSON)
    nothing = bounded_of(BY_PERSON, ["s"])
    most = Counter(row["person"] for row in rows if row["person"] is not None)
    (total,) = counted(engine, Marginals(replace(nothing, keys=()), ((),)))
    assert total == sum(min(n, 2) for n in most.values())
    assert engine.count_marginals(Marginals(replace(nothing, keys=()), ()), SALT) == ()


def test_a_key_without_values_has_no_cells() -> None:
    engine = opened(some_rows(random.Random(7), 20, 3), BY_ROWS)
    request = request_of(BY_ROWS, ["s", "n"])
    none = replace(request.bounded, keys=(replace(request.bounded.keys[0], values=()), request.bounded.keys[1]))
    total, by_none, by_n, both = engine.count_marginals(Marginals(none, ((), (0,), (1,), (0, 1))), SALT)
    assert (int(total), by_none.shape, both.shape) == (0, (0,), (0, 3))
    assert not by_n.any()


def test_an_engine_that_fails_says_nothing_of_the_data(tmp_path: Any) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(table_of(some_rows(random.Random(8), 5_000, 9)), path)
    engine = open_engine({"t": path}, BY_ROWS)
    engine.check("t")
    request = request_of(BY_ROWS, ["s", "n"])
    path.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with pytest.raises(DataError, match=r"DuckDB could not finish reading t: .* stays spent") as error:
        engine.count_marginals(request, SALT)
    assert error.value.__context__ is None


def test_counting_stops_where_a_question_is_cancelled(plan: None, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(some_rows(random.Random(10), 300, 30), BY_PERSON)
    request, cancellation = request_of(BY_PERSON, ["s", "flag"]), Cancellation()
    real = MarginalCounts.add

    def add(*arguments: Any) -> None:
        cancellation.cancelled = True
        real(*arguments)

    token = current_question.set(cancellation)
    monkeypatch.setattr(MarginalCounts, "add", add)
    try:
        with pytest.raises(Cancelled):
            engine.count_marginals(request, SALT)
    finally:
        current_question.reset(token)
        monkeypatch.setattr(MarginalCounts, "add", real)
    assert counted(engine, request)[0] > 0


def test_a_question_counts_marginals_in_a_session() -> None:
    tables = {"t": table_of(some_rows(random.Random(11), 300, 30))}
    request = request_of(BY_ROWS, ["s", "flag"])
    seen: list[Any] = []

    @dataclass(frozen=True)
    class Asked(PreparedHistogram):
        def answer(self, context: ReleaseContext) -> HistogramRelease:
            seen.extend(context.count_marginals(request, SALT))
            return super().answer(context)

    class Asking(Histogram):
        def prepare(self, terms: Terms) -> PreparedHistogram:
            prepared = super().prepare(terms)
            return Asked(prepared.bounded, prepared.loss, prepared.public)

    policy = {"version": "1", "budget": {"epsilon": 9}, "tables": {"t": {"unit": "rows", "columns": dict(COLUMNS)}}}
    with dp.connect(tables, policy) as session:
        session.answer(Asking("t", "s", 4))
        assert same(seen, counted(session._engine, request))


class TestRequests:
    def test_defaults(self) -> None:
        request = request_of(BY_ROWS, ["s", "flag"])
        assert request.sizes == (3, len(request.bounded.keys[1].values or ()))
        assert request.shape(()) == ()
        assert request.merged == (None, None)

    @pytest.mark.parametrize(
        "sets", [((1, 0),), ((0, 0),), ((2,),), ((-1,),)], ids=["falling", "twice", "beyond", "negative"]
    )
    def test_sets_are_positions(self, sets: tuple[tuple[int, ...], ...]) -> None:
        with pytest.raises(ParameterError, match="positions of the 2 keys"):
            Marginals(request_of(BY_ROWS, ["s", "n"]).bounded, sets)

    @pytest.mark.parametrize("merged", [((0, 0),), ((0, 1), None), ((0, 1, -1), None)])
    def test_merged_has_a_cell_for_each_value(self, merged: Any) -> None:
        with pytest.raises(ParameterError, match="merged must have"):
            Marginals(request_of(BY_ROWS, ["s", "n"]).bounded, ((0,),), merged)

    def test_keys_are_public_and_nothing_is_summed(self) -> None:
        bounded = request_of(BY_ROWS, ["s", "n"]).bounded
        with pytest.raises(ParameterError, match="are private"):
            Marginals(replace(bounded, keys=(replace(bounded.keys[0], values=None),)), ())
        for change in ({"measures": (Count(None),)}, {"count_units": True}, {"max_groups": 1}):
            with pytest.raises(ParameterError, match="no measures"):
                Marginals(replace(bounded, **change), ())

    def test_too_many_cells_are_refused(self) -> None:
        bounded = request_of(BY_ROWS, ["s", "n"]).bounded
        wide = tuple(replace(key, values=tuple(range(20_000))) for key in bounded.keys)
        with pytest.raises(QueryError, match="400,000,000 cells in all"):
            Marginals(replace(bounded, keys=wide), ((0, 1),))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_arrays_are_counted_whatever_covers_the_sets(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=6))
    every = [each for width in range(4) for each in itertools.combinations(range(len(sizes)), width)]
    sets = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=8))
    rows = data.draw(st.integers(0, 200))
    dice = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    columns = [dice.integers(0, size, rows) for size in sizes]
    limit = data.draw(st.sampled_from([1, 500, 2**16]))
    assert all(any(set(each) <= set(block) for block in cover(sets, sizes, limit)) for each in sets if each)
    counts = MarginalCounts(sets, sizes)
    cut = data.draw(st.integers(0, rows))
    counts.add([column[:cut] for column in columns], cut)
    counts.add([column[cut:] for column in columns], rows - cut)
    for each, some in zip(sets, counts.counts(), strict=True):
        hand = Counter(zip(*(columns[i].tolist() for i in each), strict=True)) if each else {(): rows}
        expected = np.zeros([sizes[i] for i in each], np.int64)
        for place, n in hand.items():
            expected[place] = n
        assert np.array_equal(some, expected)


def test_more_rows_than_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_marginals, "_CHUNK", 7)
    counts = MarginalCounts([(0, 1), ()], [3, 2])
    counts.add([np.arange(20) % 3, np.arange(20) % 2], 20)
    pairs, total = counts.counts()
    assert int(total) == 20
    assert pairs.tolist() == [[4, 3], [3, 4], [3, 3]]


Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]


def agree(open_at: Callable[[Policy, Tables], Engine]) -> None:
    """An engine's integers are DuckDB's where no cap bites, and those of its own sums where one does."""
    rows = some_rows(random.Random(9), 300, 30)
    tables = {"t": table_of(rows)}
    request = request_of(BY_ROWS, KEYS, merged=[(1, 0, 0), *[None] * (len(KEYS) - 1)])
    mine, duckdb = open_at(BY_ROWS, tables), opened(rows, BY_ROWS)
    mine.check("t")
    assert same(counted(mine, request), counted(duckdb, request))
    nothing = replace(request.bounded, keys=())
    sure = sum(row["sure"] is not None for row in rows)
    assert same(counted(mine, Marginals(nothing, ((),))), [np.array(sure)])
    assert mine.count_marginals(Marginals(nothing, ()), SALT) == ()
    mine.close()
    capped = open_at(BY_PERSON, tables)
    capped.check("t")
    biting = request_of(BY_PERSON, ["flag", "age", HOUR])
    counts = counted(capped, biting)
    assert same(counts, joint(capped, biting, SALT))
    assert 0 < counts[0] <= 60
    wide = policy_of({"unit": "person", "max_rows": 300})
    for engine in (open_at(wide, tables), opened(rows, wide)):
        engine.check("t")
        people = request_of(wide, ["flag", "day"])
        owned = [row for row in rows if row["person"] is not None]
        assert same(counted(engine, people), plain(people, owned, ["flag", "day"]))
        engine.close()


def agree_in_shards(open_at: Callable[[Policy, Tables], Engine], module: str, patch: pytest.MonkeyPatch) -> None:
    rows = some_rows(random.Random(12), 300, 30)
    mine, few = open_at(BY_PERSON, {"t": table_of(rows)}), request_of(BY_PERSON, ["s", CELL], "WHERE n > 1")
    mine.check("t")
    assert same(in_shards(mine, module, few, patch), counted(mine, few))
    mine.close()


def test_postgres_counts_the_same(load_postgres: Load, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.postgres import PostgreSQL

    def open_at(policy: Policy, tables: Tables) -> Engine:
        return PostgreSQL(postgres, policy, load_postgres(tables))

    agree(open_at)
    agree_in_shards(open_at, "postgres", monkeypatch)


ON_SPARK = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@ON_SPARK
def test_spark_counts_the_same(load_spark: Load, spark: Any) -> None:
    from discreet.engines.spark import Spark

    agree(lambda policy, tables: Spark(spark, policy, load_spark(tables)))


@ON_SPARK
@pytest.mark.soak
def test_shards_add_up_on_spark(load_spark: Load, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.spark import Spark

    agree_in_shards(lambda policy, tables: Spark(spark, policy, load_spark(tables)), "spark", monkeypatch)


@ON_SPARK
def test_executors_without_discreet_are_named(load_spark: Load, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engines.spark import Spark

    def lack(*_: object) -> None:
        raise RuntimeError("ModuleNotFoundError: No module named 'discreet'\nrow: 'secret'")

    engine = Spark(spark, BY_ROWS, load_spark({"t": table_of(some_rows(random.Random(13), 9, 3))}))
    monkeypatch.setattr(type(engine._session), "mapped", lack)
    with pytest.raises(DataError, match="executors have no discreet") as error:
        engine.count_marginals(request_of(BY_ROWS, ["s"]), SALT)
    assert "secret" not in str(error.value)
    assert error.value.__context__ is None
