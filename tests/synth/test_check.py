"""`synth.check`: what it estimates, how far one person moves it, what it is charged, and what it refuses."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from replay import check_given, check_same, run
from scipy.stats import binom
from synth_neighbours import policy_of, some_pair, table_of

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.ledger import verify_release
from discreet.marginals import column_cells
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms, parse_release_file, verify_loss
from discreet.synth.checks._norms import count_norms, distance_norms, score_norms
from discreet.synth.checks._rows import CHECKED_ROWS, cells_of, chosen_sets

pytestmark = pytest.mark.usefixtures("one_database")

SURE = 1 - 1e-11
"""A bound at this level fails by chance once in 10**11."""
COLUMNS: dict[str, Any] = {
    "age": {"type": "int", "bounds": [0, 60]},
    "site": {"type": "string", "keys": ["a", "b", "c"], "nullable": False},
    "cost": {"type": "float", "bounds": [0, 50]},
    "ill": {"type": "bool", "nullable": False},
}
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 10**6},
    "tables": {"t": {"unit": "rows", "columns": COLUMNS}},
}
SPENDS = {"pure": dp.pure(1), "approx": dp.approx(1, "1e-6"), "rho": dp.rho("0.1"), "mu": dp.mu("0.4")}
BUDGETS = {"pure": {"epsilon": 99}, "approx": {"epsilon": 99, "delta": "1e-3"}, "rho": {"rho": 99}, "mu": {"mu": 99}}


def people(count: int, seed: int = 1) -> dict[str, list[Any]]:
    dice = random.Random(seed)
    ages = [int(dice.triangular(0, 60, 20)) if dice.random() > 0.05 else None for _ in range(count)]
    sites = [dice.choice("aab" if age is not None and age < 30 else "bcc") for age in ages]
    costs = [round(min(50, max(0, (age or 5) * dice.random())), 2) if dice.random() > 0.3 else 0.0 for age in ages]
    risks = [0.1 + 0.012 * (age or 0) + 0.2 * (site == "c") for age, site in zip(ages, sites, strict=True)]
    ill = [dice.random() < risk for risk in risks]
    return {"age": ages, "site": sites, "cost": costs, "ill": ill}


def as_table(rows: dict[str, list[Any]]) -> pa.Table:
    types = {"age": pa.int64(), "site": pa.string(), "cost": pa.float64(), "ill": pa.bool_()}
    return pa.table({name: pa.array(values, types[name]) for name, values in rows.items()})


ROWS = people(3_000)
PEOPLE = as_table(ROWS)


@pytest.fixture(scope="module")
def fitted() -> synth.SyntheticTable:
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        return synth.fit(session, "t", dp.rho("0.05"), target="ill")


def _codes(table: synth.SyntheticTable) -> tuple[list[Any], list[Any]]:
    """The cells of private rows, one by one, and of the rows they are compared with."""
    private = [np.array([column.cell(value) for value in ROWS[column.name]]) for column in table.columns]
    sample = table.sample(CHECKED_ROWS, label="check")
    return private, [cells_of(column, sample[column.name]) for column in table.columns]


def _truth(table: synth.SyntheticTable) -> dict[str, float]:
    """The exact distances, in floats."""
    private, synthetic = _codes(table)
    sizes = [column.size for column in table.columns]
    truth: dict[str, float] = {}
    for width, (sets, _) in chosen_sets(sizes, table.digest()).items():
        gaps = []
        for clique in sets:
            shape = [sizes[column] for column in clique]
            shares = []
            for rows in (private, synthetic):
                place = np.ravel_multi_index([rows[column] for column in clique], shape)
                shares.append(np.bincount(place, minlength=int(np.prod(shape))) / len(place))
            gaps.append(np.abs(shares[0] - shares[1]).sum() / 2)
        truth[f"tv{width}"] = float(np.mean(gaps))
    return truth


def _judged(prepared: Any) -> dict[str, float]:
    """Accuracy, and the AUC of ranges, row by row."""
    classifier, table = prepared.classifier, prepared.table
    private, _ = _codes(table)
    score = sum(np.array(w)[c] for w, c in zip(classifier.points, private, strict=True) if w is not None)
    ranged = np.searchsorted(classifier.ends, score, side="right")
    labels = private[classifier.target] == classifier.positive
    pairs = ranged[labels][:, None] - ranged[~labels][None, :]
    right = (ranged >= classifier.threshold) == labels
    return {"accuracy": float(right.mean()), "auc": float(((pairs > 0) + (pairs == 0) / 2).mean())}


def _prepared(session: dp.Session, table: synth.SyntheticTable, spend: dp.Loss, **how: Any) -> Any:
    return session.prepare(synth.CheckTable(table, spend, **how))


@pytest.mark.parametrize("currency", ["approx", "mu"])
def test_intervals_hold_the_true_distances_and_the_true_scores(fitted, currency: str) -> None:
    """Distances by a bound that fails once in 10**11 for each of 3; those of scores are of first order, so wider."""
    truth = _truth(fitted)
    with dp.connect({"t": PEOPLE}, {**POLICY, "budget": BUDGETS[currency]}) as session:
        truth |= _judged(_prepared(session, fitted, SPENDS[currency], target="ill"))
        found = synth.check(session, fitted, SPENDS[currency], target="ill")
        assert found.names == ("tv1", "tv2", "tv3", "accuracy", "auc")
        for name in found.names:
            lower, upper = found.interval(name, SURE)
            assert lower <= truth[name] <= upper, name
            assert found.error(name) < 0.15
        assert abs(found.rows - 3_000) < found.mechanism.error(SURE)
        assert session.spent.fits(SPENDS[currency])
        assert verify_loss(found.certificate) is None


def test_without_noise_the_estimates_are_the_truth(fitted) -> None:
    """At a huge spend, to the rounding of synthetic rows to 65,536 parts of one."""
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        prepared = _prepared(session, fitted, dp.rho(9 * 10**5), target="ill")
        truth = _truth(fitted) | _judged(prepared)
        found = synth.check(session, fitted, dp.rho(9 * 10**5), target="ill")
    for name, value in truth.items():
        assert found.estimate(name) == pytest.approx(value, abs=1e-5), name


@pytest.mark.parametrize(("checks", "rows"), [(15, 3_000), pytest.param(1_000, 3_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("currency", ["pure", "rho"])
def test_intervals_cover_at_their_level(fitted, currency: str, checks: int, rows: int) -> None:
    """At 95 % at least 93 % do: fails by chance less than once in 10**9, as a binomial count would."""
    policy = load_policy({**POLICY, "budget": BUDGETS[currency]})
    truth, hits = _truth(fitted), {}
    with dp.connect({"t": PEOPLE}, policy) as session:
        prepared = _prepared(session, fitted, SPENDS[currency], target="ill")
        truth |= _judged(prepared)
        engine = session._engine
        context = ReleaseContext(policy, engine.run, engine.count_marginals, dict)
        for _ in range(checks):
            found = prepared.answer(context)
            for name, value in truth.items():
                lower, upper = found.interval(name)
                hits[name] = hits.get(name, 0) + (lower <= value <= upper)
    print({name: count / checks for name, count in hits.items()})
    for name, count in hits.items():
        assert binom.cdf(count, checks, 0.93) > 1e-9, name


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("pairs", [1, pytest.param(300, marks=pytest.mark.soak)])
def test_nothing_that_is_asked_moves_more_than_is_charged(relation: str, max_rows: int, pairs: int) -> None:
    """A check is replayed on neighbours: its release is a function of noisy numbers, which move by their norms."""
    dice = random.Random(f"{relation} {max_rows}")
    policy = policy_of(relation, max_rows, {"rho": 99})
    rows, _ = some_pair(dice, relation, people=60)
    with dp.connect({"t": table_of(rows)}, policy) as session:
        table = synth.fit(session, "t", dp.rho(9), tier="instant")

    def ask(session: dp.Session) -> synth.SyntheticCheck:
        return synth.check(session, table, dp.rho(1), target="c")

    for _ in range(pairs):
        one, other = some_pair(dice, relation, people=8)
        first = run(ask, {"t": table_of(one)}, policy)
        second = run(ask, {"t": table_of(other)}, policy, first)
        check_same(first, second)
        check_given(second)
        assert first.release is not None
        distances = first.release.distances  # type: ignore[attr-defined]
        norms = [
            count_norms(max_rows, relation),  # type: ignore[arg-type]
            *(distance_norms(max_rows, relation, each.sets, each.grid) for each in distances),  # type: ignore[arg-type]
            score_norms(max_rows, relation),  # type: ignore[arg-type]
        ]
        for a, b, norm in zip(first.drawn, second.drawn, norms, strict=True):
            moves = [abs(x - y) for x, y in zip(a.given, b.given, strict=True)]
            assert sum(moves) <= norm.l1
            assert sum(move * move for move in moves) <= norm.l2_squared
        assert verify_loss(first.content["certificate"]) is None


def test_an_answer_is_yes_or_no_and_how_sure(fitted) -> None:
    truth = _truth(fitted)
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        spend = dp.rho(50)
        far, near = truth["tv2"] + 0.1, truth["tv2"] / 2
        yes = synth.check(session, fitted, spend, accept={"tv2": far})
        spent = session.spent
        no = synth.check(session, fitted, spend, accept={"tv2": near, "tv1": 1})
        assert session.spent == spent, "another limit is free"
        assert (yes.accepted, no.accepted) == (True, False)
        assert min(yes.confidence("tv2"), no.confidence("tv2")) > 0.999
        undecided = synth.check(session, fitted, spend, accept={"tv2": yes.estimate("tv2")})
        assert undecided.accepted
        assert undecided.confidence("tv2") < 0.1
        assert "yes, at a level of" in repr(yes)
        assert "no, at a level of" in repr(no)
        with pytest.raises(QueryError, match="no limit"):
            yes.confidence("tv1")
        auc = synth.check(session, fitted, spend, target="ill", accept={"auc": 0.99, "accuracy": 0.5})
        assert not auc.accepted
        assert auc.confidence("auc") > 0.99


def test_what_is_refused_before_any_charge(fitted) -> None:
    bad: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"table": 7}, ParameterError, "as discreet.synth.fit gives it"),
        ({"spend": 1}, ParameterError, "spend must be a loss"),
        ({"spend": dp.rho("1e-60")}, ParameterError, "spend"),
        ({"spend": dp.rho(10**7)}, dp.BudgetExceeded, "budget"),
        ({"target": "agee"}, QueryError, "agee"),
        ({"target": "age"}, ParameterError, "say which of them is to be recognised"),
        ({"target": {"age": 99}}, ParameterError, "age has no value 99"),
        ({"target": {"age": None}}, ParameterError, "age has no value None"),
        ({"target": {}}, ParameterError, "a column and one of its values"),
        ({"target": 3}, ParameterError, "a column and one of its values"),
        ({"accept": {"tv4": 1}}, ParameterError, "tv4.*tv1, tv2, tv3"),
        ({"accept": {"auc": 1}}, ParameterError, "need a target"),
        ({"accept": {"tv1": float("nan")}}, ParameterError, "from 0 to 1"),
        ({"accept": {"tv1": True}}, ParameterError, "from 0 to 1"),
    ]
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        for how, kind, words in bad:
            asked = {"table": fitted, "spend": dp.rho(1), **how}
            with pytest.raises(kind, match=words):
                synth.check(session, asked.pop("table"), asked.pop("spend"), **asked)
        assert [entry.kind for entry in session._ledger.entries()] == ["create"]


@pytest.mark.parametrize(
    "change",
    [
        {"age": {"type": "int", "bounds": [0, 61]}},
        {"age": {"type": "int", "bounds": [0, 60], "nullable": False}},
        {"age": {"type": "float", "bounds": [0, 60]}},
        {"site": {"type": "string", "keys": ["a", "b"], "nullable": False}},
    ],
)
def test_another_policy_is_refused_by_the_name_of_the_column(fitted, change: dict[str, Any]) -> None:
    changed = {**POLICY, "tables": {"t": {"unit": "rows", "columns": {**COLUMNS, **change}}}}
    with dp.connect({"t": PEOPLE}, changed) as session:
        with pytest.raises(QueryError, match=f"t.{next(iter(change))} is not the column.*fit again"):
            synth.check(session, fitted, dp.rho(1))
        assert session.remaining == dp.rho(10**6)


def test_a_check_is_stored_verified_and_free_again(fitted, tmp_path) -> None:
    with dp.connect({"t": PEOPLE}, POLICY, tmp_path / "l") as session:
        found = synth.check(session, fitted, dp.rho(1), target={"site": "a"})
        assert synth.check(session, fitted, dp.rho(1), target={"site": "a"}).to_bytes() == found.to_bytes()
        assert session.spent == dp.rho(1)
        synth.check(session, fitted, dp.rho(1))
        assert session.spent == dp.rho(2)
    found.save(tmp_path / "f")
    again = synth.SyntheticCheck.load(tmp_path / "f")
    assert again == found
    results = {each.name: each.result for each in verify_release(parse_release_file(found.to_bytes()))}
    assert set(results.values()) == {"good", "not checked"}
    for place, change in enumerate([
        {"rows": {**json.loads(found.to_bytes())["rows"], "value": 1}},
        {"synthetic": "0"},
        {"distances": []},
        {"scores": None},
    ]):  # fmt: skip
        changed = json.dumps({**json.loads(found.to_bytes()), **change}).encode()
        bad = {each.name: each.result for each in verify_release(parse_release_file(changed))}
        assert bad["answer"] == "bad", place


def test_a_changed_certificate_of_a_check_is_refused(fitted) -> None:
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        certificate = json.loads(json.dumps(synth.check(session, fitted, dp.rho(1), target="ill").certificate))
    changes: list[Any] = [
        lambda c: c["steps"][0].update(sigma="1/100"),
        lambda c: c["steps"][1].update(sets=c["steps"][1]["sets"] + 1),
        lambda c: c["steps"][2].update(grid=c["steps"][2]["grid"] * 2),
        lambda c: c["steps"][4].update(sigma="1/100"),
        lambda c: c["steps"].append(c["steps"][0]),
        lambda c: c["steps"][0].pop("sigma"),
        lambda c: c["steps"][1].update(distance=4),
        lambda c: c["steps"][1].update(sets=10**9),
        lambda c: c["steps"][1].update(grid=True),
        lambda c: c.update(steps=[]),
        lambda c: c.update(steps=[None]),
        lambda c: c.update(rows_per_unit=2),
        lambda c: c.update(relation="substitute"),
        lambda c: c.update(relation=None),
        lambda c: c.update(currency="pure"),
        lambda c: c.update(currency="euro"),
        lambda c: c.update(loss={"kind": "rho", "rho": "1/2", "delta": "0"}),
    ]
    for change in changes:
        changed = copy.deepcopy(certificate)
        change(changed)
        with pytest.raises(LedgerError):
            verify_loss(changed)


DAMAGES: list[tuple[str, object]] = [
    *((field, value) for field in ("rows", "certificate", "limits", "loss") for value in (None, 1, [], [None], "x")),
    *(("format", value) for value in (None, 2, [], "1")),
    *(("distances", value) for value in (None, 1, {"a": 1}, [None], [{"columns": 10**9}])),
    *(("scores", value) for value in (1, [], {}, [None], "x", {"counts": [1]})),
    ("rows", {"value": float("nan"), "mechanism": "DiscreteLaplace", "scale": "1"}),
    ("rows", {"value": 10**400, "mechanism": "DiscreteLaplace", "scale": "1"}),
    ("limits", {"tv9": 1}),
]


def test_a_damaged_check_is_refused(fitted) -> None:
    with dp.connect({"t": PEOPLE}, POLICY) as session:
        content = json.loads(synth.check(session, fitted, dp.rho(1), target="ill").to_bytes())
    assert synth.SyntheticCheck.from_bytes(json.dumps(content).encode()).rows > 0
    for field, value in DAMAGES:
        with pytest.raises(LedgerError):
            synth.SyntheticCheck.from_bytes(json.dumps({**content, field: value}).encode())
    for payload in (b"", b"{}", b"[" * 100_000):
        with pytest.raises(LedgerError):
            synth.SyntheticCheck.from_bytes(payload)


def test_cells_of_synthetic_rows_are_those_of_each_value() -> None:
    policy = load_policy({
        "version": "1",
        "tables": {"t": {"unit": "rows", "columns": {
            "a": {"type": "int", "bounds": [0, 99]},
            "b": {"type": "decimal", "bounds": ["0", "9.5"]},
            "c": {"type": "date", "bounds": ["1960-01-01", "2020-12-31"]},
            "d": {"type": "timestamp", "bounds": ["2020-01-01 00:00:00", "2020-02-01 00:00:00"]},
            "e": {"type": "float", "bounds": [-1, 1e3]},
            "f": {"type": "string", "keys": ["x", "ä"]},
            "g": {"type": "bool"},
            "h": {"type": "date", "keys": ["2020-01-01", "2021-01-01"]},
        }}},
    })  # fmt: skip
    dice = np.random.default_rng(1)
    for name, declared in policy.tables["t"].columns.items():
        column = column_cells("t", name, declared)
        cells = dice.integers(0, column.size, 3_000)
        values = column.values(cells, dice.random(3_000))
        assert (cells_of(column, values) == cells).all(), name
        assert [column.cell(value) for value in values.to_pylist()[:100]] == cells[:100].tolist(), name


def test_many_columns_are_compared_by_a_public_choice() -> None:
    sizes = [10] * 60
    chosen = chosen_sets(sizes, "digest")
    assert chosen == chosen_sets(sizes, "digest")
    assert chosen != chosen_sets(sizes, "another")
    assert [(len(sets), count) for sets, count in chosen.values()] == [(60, 60), (400, 1_770), (400, 34_220)]
    huge = chosen_sets([5_000] * 3, "")
    assert list(huge) == [1], "a pair has more cells than are counted"


def test_terms_are_all_that_a_check_is_prepared_from(fitted) -> None:
    """Without a session, so without data: the same hash and words."""
    policy = load_policy(POLICY)
    terms = Terms(policy, "rho", lambda _: None)
    one = synth.CheckTable(fitted, dp.rho(1), "ill").prepare(terms)
    assert one.hash == synth.CheckTable(fitted, dp.rho(1), "ill", {"tv1": 1}).prepare(terms).hash
    assert one.hash != synth.CheckTable(fitted, dp.rho(2), "ill").prepare(terms).hash
    assert one.hash != synth.CheckTable(replace(fitted, total=5.0), dp.rho(1), "ill").prepare(terms).hash
