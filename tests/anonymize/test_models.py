"""Every algorithm against the verifier and brute force, and what cannot be done in words."""

from __future__ import annotations

import hashlib
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from anonymize.brute import penalty_of
from anonymize.conftest import random_table
from discreet.anonymize import DeltaPresence, Hierarchy, KAnonymity, KMap, LDiversity, TCloseness, intervals, verify
from discreet.anonymize._anonymized import table_digest
from discreet.anonymize.tables import read_columns, read_frame
from discreet.errors import ParameterError

QUASI = ["age", "town", "trade"]
METHODS = ("best", "fast", "full-domain", "full-domain without recoding", "datafly", "microaggregation")


def trees(table: pa.Table) -> dict[str, Hierarchy]:
    columns = {each.name: each for each in read_columns(read_frame(table), QUASI, "quasi")}
    towns = [str(each) for each in columns["town"].values]
    return {
        "age": intervals(columns["age"], [5, 10, 20], 0),
        "town": Hierarchy("town", {each: (each, "north" if each < "t4" else "south", "*") for each in towns}),
    }


def holds(table: pa.Table, model: KAnonymity) -> None:
    out = model.fit_transform(table)
    verdict = verify(out.table, QUASI, ["illness"])
    assert verdict == out.verdict
    assert verdict.k >= model.k
    if model.l is not None:
        assert verdict.spreads["illness"].distinct >= model.l
    if model.t is not None:
        assert verdict.spreads["illness"].equal <= model.t + 1e-9
    assert out.table.num_rows == len(out.rows) >= (1 - model.suppression) * table.num_rows
    assert out.table["illness"].to_pylist() == [table["illness"][int(i)].as_py() for i in out.rows]
    if model.hierarchies is None and len(out.rows) == table.num_rows:
        assert out.losses.certainty == pytest.approx(penalty_of(out.table.to_pylist(), table.to_pylist(), QUASI))


def random_model(draws: np.random.Generator, method: str, table: pa.Table) -> KAnonymity:
    free = method == "microaggregation"
    return KAnonymity(
        k=int(draws.integers(1, min(12, table.num_rows) + 1)), quasi=QUASI, sensitive=["illness"],
        l=None if free or draws.integers(0, 2) else min(2, len(set(table["illness"].to_pylist()))),
        t=None if free or draws.integers(0, 2) else float(draws.uniform(0.1, 1)),
        hierarchies=trees(table) if draws.integers(0, 2) else None, method=method, suppression=1.0,
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_every_output_passes_the_verifier(method: str) -> None:
    draws = np.random.default_rng(11)
    for _ in range(12):
        table = random_table(draws, int(draws.integers(20, 200)))
        holds(table, random_model(draws, method, table))


@pytest.mark.soak
@pytest.mark.parametrize("method", METHODS)
def test_every_output_of_many_tables_passes_the_verifier(method: str) -> None:
    draws = np.random.default_rng(12)
    for _ in range(300):
        table = random_table(draws, int(draws.integers(20, 600)))
        holds(table, random_model(draws, method, table))


@pytest.mark.parametrize("condition", [
    LDiversity("illness", 1.8, "entropy"), LDiversity("illness", 2, "recursive", c=2.0), LDiversity("illness", 2),
    TCloseness("illness", 0.3), TCloseness("cost", 0.2, "ordered"),
])  # fmt: skip
@pytest.mark.parametrize("method", ["best", "fast", "full-domain"])
def test_other_conditions_hold(table: pa.Table, condition: Any, method: str) -> None:
    model = KAnonymity(3, QUASI, ["illness", "cost"], conditions=[condition], method=method, suppression=1.0)
    out = model.fit_transform(table)
    spread = out.verdict.spreads[condition.column]
    if isinstance(condition, TCloseness):
        assert (spread.ordered if condition.distance == "ordered" else spread.equal) <= condition.t + 1e-9
    elif condition.kind == "entropy":
        assert spread.entropy >= condition.l - 1e-9
    else:
        assert spread.distinct >= 2
        assert condition.kind == "distinct" or spread.recursive < condition.c


def test_closeness_is_to_what_is_published() -> None:
    """A class without flu is within .4 of all rows, and .48 from those that are left without the rare ones."""
    table = pa.table({
        "q": ["a"] * 20 + ["b"] * 5 + list("stuvwxyz"),
        "illness": ["flu"] * 12 + ["gout"] * 8 + ["gout"] * 5 + ["gout"] * 8,
    })  # fmt: skip
    model = KAnonymity(3, ["q"], ["illness"], t=0.4, method="full-domain without recoding", suppression=1.0)
    out = model.fit_transform(table)
    assert out.rows.tolist() == list(range(20)) and out.verdict.spreads["illness"].equal == 0
    assert KAnonymity(3, ["q"], ["illness"], t=0.4).fit_transform(table).losses.suppressed == 0


def test_hierarchical_closeness_counts_levels() -> None:
    tree = Hierarchy(
        "illness", {"flu": ("flu", "lung", "*"), "cough": ("cough", "lung", "*"), "gout": ("gout", "bone", "*")}
    )
    table = pa.table({"q": list("aabb"), "illness": ["flu", "cough", "gout", "gout"]})
    (column,) = read_columns(read_frame(table), ["illness"], "sensitive")
    # cough, flu, gout against (¼, ¼, ½): from half gout to lung over the root; from two lungs to one within it.
    counts = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 2.0]])
    far = {0: 0.5, 1: 0.5 + 0.25 * 0.5, 2: 0.0}
    for row, distance in far.items():
        for t, passes in ((distance - 1e-6, False), (distance + 1e-6, True)):
            if 0 <= t <= 1:
                check = TCloseness("illness", t, "hierarchical", tree).check(column)
                assert check.holds(counts[row : row + 1])[0] == passes


def test_full_domain_is_the_best_of_all_places() -> None:
    from itertools import product

    from discreet.anonymize.algorithms import Problem
    from discreet.anonymize.algorithms._full_domain import _Search
    from discreet.anonymize.algorithms._lattice import Lattice

    draws = np.random.default_rng(5)
    for is_geometric in (False, True):
        for _ in range(8):
            table = random_table(draws, int(draws.integers(20, 150)))
            known = trees(table)
            quasi = read_columns(read_frame(table), QUASI, "quasi")
            problem = Problem(quasi, int(draws.integers(2, 9)), (), (1.0, 2.0, 0.5), tuple(known.get(n) for n in QUASI))
            lattice = Lattice(problem, is_geometric)
            search = _Search(lattice)
            losses: dict[tuple[int, ...], float] = {}
            for levels in product(*(range(height + 1) for height in lattice.heights)):
                labels = list(zip(*(
                    np.array(lattice.hierarchies[i].labels(each, level), object)[each.codes]
                    for i, (each, level) in enumerate(zip(quasi, levels, strict=True))
                ), strict=True))  # fmt: skip
                sizes = {label: labels.count(label) for label in set(labels)}
                lost = np.array([
                    np.mean([1 if sizes[label] < problem.k else lattice.shares[i][level][each.codes[row]]
                             for row, label in enumerate(labels)])
                    for i, (each, level) in enumerate(zip(quasi, levels, strict=True))
                ])  # fmt: skip
                losses[levels] = lattice.aggregated(lost)
            assert losses[search.best()] == pytest.approx(min(losses.values()))


@pytest.mark.parametrize("method", ["best", "fast"])
def test_memory_does_not_grow_with_classes_times_values(method: str) -> None:
    rows = 8_000
    draws = np.random.default_rng(15)
    table = pa.table({"zip": [f"z{each}" for each in draws.permutation(rows)], "age": draws.integers(18, 90, rows)})
    model = KAnonymity(2, ["zip", "age"], method=method)
    tracemalloc.start()
    out = model.fit_transform(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.losses.certainty == pytest.approx(penalty_of(out.table.to_pylist(), table.to_pylist(), ["zip", "age"]))
    assert out.verdict.classes > 2_000 and peak < 96 << 20  # classes times values: 200 MiB and more


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_frames_come_back_as_they_came(table: pa.Table, kind: str) -> None:
    frame = {"arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
    out = KAnonymity(5, QUASI, ["illness"]).fit_transform(frame)
    assert type(out.table) is type(frame)
    assert verify(out.table, QUASI, ["illness"]).k >= 5


def test_categories_of_pandas_and_nulls_are_read() -> None:
    frame = pd.DataFrame({"q": pd.Categorical(["a", "b", None, "a"] * 5), "s": ["x", "y"] * 10})
    out = KAnonymity(3, ["q"], ["s"]).fit_transform(frame)
    assert out.verdict.k >= 3


def test_k_map_and_presence_count_the_population() -> None:
    draws = np.random.default_rng(3)
    population = random_table(draws, 600).select(QUASI)
    inside = np.sort(draws.choice(600, 120, replace=False))
    table = population.take(pa.array(inside))
    for model in (KMap(10, QUASI, population), DeltaPresence(0.0, 0.5, QUASI, population)):
        out = model.fit_transform(table)
        assert out.table.num_rows == 120
        rows = out.table.to_pylist()
        for cell in {tuple(row.values()) for row in rows}:
            people = sum(
                all(_fits(each[name], text) for name, text in zip(QUASI, cell, strict=True))
                for each in population.to_pylist()
            )
            members = sum(tuple(row.values()) == cell for row in rows)
            if isinstance(model, KMap):
                assert people >= 10
            else:
                assert members <= 0.5 * people


def _fits(value: Any, cell: str) -> bool:
    if cell == "*":
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return int(low) <= value <= int(high)
    return str(value) in (cell[1:-1].split(", ") if cell.startswith("{") else [cell])


def test_every_row_and_column_is_explained(table: pa.Table) -> None:
    out = KAnonymity(8, QUASI, ["illness"], l=2).fit_transform(table)
    for row in range(0, 400, 40):
        text = out.explain(row=row)
        assert "look alike" in text
        assert "it could be cut" not in text or "other cuts" in text
    assert "NCP" in repr(out) and "certainty penalty" in out.explain(column="trade")
    few = KAnonymity(8, QUASI, method="full-domain without recoding", suppression=1.0).fit_transform(table)
    gone = sorted(set(range(400)) - set(few.rows.tolist()))
    assert gone and "suppressed" in few.explain(row=gone[0])
    for bad in ({}, {"row": 400}, {"row": -1}, {"column": "illness"}, {"row": 1, "column": "age"}):
        with pytest.raises(ParameterError):
            out.explain(**bad)  # pyright: ignore[reportArgumentType]


def test_fit_and_transform_are_as_in_scikit_learn(table: pa.Table) -> None:
    model = KAnonymity(5, QUASI, ["illness"])
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(ParameterError, match="fit the table first"):
        model.transform(table)
    assert model.fit(table).transform(table).verdict.k >= 5
    with pytest.raises(ParameterError, match="fitted alone"):
        model.transform(table.slice(1))
    with pytest.raises(ParameterError, match="no parameter"):
        model.set_params(kk=2)


@pytest.mark.parametrize(
    ("population", "words"),
    [
        (pa.table({"age": [30], "town": ["t0"]}), "population has no column trade"),
        (pa.table({"age": ["30"], "town": ["t0"], "trade": ["b0"]}), "of other types"),
    ],
)
def test_a_population_of_other_columns_is_refused(table: pa.Table, population: pa.Table, words: str) -> None:
    for model in (KMap(2, QUASI, population), DeltaPresence(0, 1, QUASI, population)):
        with pytest.raises(ParameterError, match=words):
            model.fit_transform(table)
    with pytest.raises(ParameterError, match="table has no column county"):
        KMap(2, ["county"], table).fit_transform(table)


@pytest.mark.parametrize("model", [KMap(2, ["q"], None), DeltaPresence(0, 1, ["q"], None, suppression=0.1)])
def test_models_of_populations_are_cloned(model: KMap | DeltaPresence) -> None:
    assert clone(model).get_params() == model.get_params() and clone(model).method == "best"


def test_the_digest_is_of_lengths_and_texts() -> None:
    base = pa.table({"a": ["x", None, "", "äö"], "b": [1, None, 3, 4], "c": pa.array([None] * 4, pa.string())})
    digests = set()
    for each in (base, base.slice(1, 2), pa.concat_tables([base.slice(2), base]), base.take([1, 0, 2, 3])):
        digest = hashlib.sha256(str(each.num_rows).encode())
        for name in each.column_names:
            texts = [None if value is None else str(value).encode() for value in each[name].to_pylist()]
            lengths = [-1 if text is None else len(text) for text in texts]
            digest.update(f"{name}\0{each[name].type}\0".encode() + np.array(lengths, "<i8").tobytes())
            digest.update(b"".join(text or b"" for text in texts))
        assert table_digest(each) == digest.hexdigest()
        digests.add(digest.hexdigest())
    assert len(digests) == 4


def test_the_certificate_says_what_is_not_promised(table: pa.Table) -> None:
    out = KAnonymity(5, QUASI, ["illness"]).fit_transform(table)
    assert out.certificate["left out"] == ["cost"]
    assert any("differential privacy" in each for each in out.certificate["not promised"])
    text = f"{out!r} {out.certificate} {out.explain(row=1)}"
    assert "anonymous" not in text and "safe" not in text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"k": 401}, "400 rows, fewer than k"),
        ({"k": 0}, "k is a whole number"),
        ({"k": True}, "k is a whole number"),
        ({"quasi": ["age", "county"]}, "no column county"),
        ({"quasi": "age"}, "list of columns"),
        ({"quasi": []}, "name the quasi-identifiers"),
        ({"quasi": ["age", "age"]}, "twice"),
        ({"sensitive": ["age"]}, "age is a quasi-identifier"),
        ({"sensitive": ["wealth"]}, "no column wealth"),
        ({"sensitive": [], "l": 2}, "name them"),
        ({"l": 9}, "illness has"),
        ({"t": 1.5}, "from 0 to 1"),
        ({"conditions": [LDiversity("cost", 2)]}, "not among the sensitive"),
        ({"method": "magic"}, "the method is one of"),
        ({"method": "microaggregation", "l": 2}, "no conditions beside k"),
        ({"weights": {"town": 0}}, "positive"),
        ({"weights": {"cost": 1}}, "no quasi-identifier"),
        ({"hierarchies": {"cost": Hierarchy("cost", {"1": ("1", "*")})}}, "no quasi-identifier"),
        ({"hierarchies": {"town": Hierarchy("town", {"t0": ("t0", "*")})}}, "has no value"),
        ({"hierarchies": "nowhere.toml"}, "cannot be read"),
        ({"method": "full-domain without recoding", "k": 60}, "would suppress"),
        ({"suppression": 2}, "share of rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_in_words(table: pa.Table, settings: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"k": 5, "quasi": QUASI, "sensitive": ["illness"], **settings}
    with pytest.raises(ParameterError, match=words):
        KAnonymity(**given).fit_transform(table)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([1.0, float("nan"), 2.0]), "not finite"),
        (pa.array([1, None, 2]), "nulls"),
        (pa.array([None, None, None], pa.string()), "no value at all"),
        (pa.array([[1], [2], [3]]), "can be read"),
    ],
)
def test_columns_that_cannot_be_read_are_named(column: pa.Array, words: str) -> None:
    with pytest.raises(ParameterError, match=f"column q.*{words}"):
        KAnonymity(1, ["q"]).fit_transform(pa.table({"q": column}))
