"""Attacks on releases that give something away, on releases that do not, and on what they cannot be asked."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import discreet as dp
from discreet import attack
from discreet.anonymize import Hierarchy, KAnonymity, intervals
from discreet.anonymize.tables import read_columns, read_frame
from discreet.attack import Control, Outcome
from discreet.errors import BudgetExceeded, ParameterError

QUASI = ["age", "town"]
ALARM = 1e-9
"""How often a check of chance fails where nothing is wrong."""


def people(draws: np.random.Generator, rows: int = 300) -> pa.Table:
    age = draws.integers(20, 80, rows)
    return pa.table(
        {
            "age": age,
            "town": [f"t{each}" for each in draws.integers(0, 6, rows)],
            "illness": [f"i{each}" for each in draws.integers(0, 4, rows)],
        }
    )


def is_chance(outcome: Outcome) -> bool:
    """Whether the number of right guesses is one that the baseline gives, but for the alarm."""
    low, high = binom.interval(1 - ALARM, outcome.targets, outcome.baseline)
    return bool(low <= outcome.right <= high)


def exactly(secret: NDArray[np.bool_]) -> Callable[[NDArray[np.bool_]], float]:
    return lambda subset: float((subset & secret).sum())


def test_an_outcome_says_what_it_shows() -> None:
    outcome = Outcome("guessing", 60, 100, Control(0.5, 100), pa.table({"a": [1]}), 10, 1)
    assert (outcome.success, outcome.baseline, round(outcome.advantage, 9)) == (0.6, 0.5, 0.1)
    low, high = outcome.interval(0.95)
    assert binom.sf(59, 100, low) == pytest.approx(0.025, rel=1e-6)
    assert binom.cdf(60, 100, high) == pytest.approx(0.025, rel=1e-6)
    assert "10 claims, of which 1 are false" in outcome.explain()
    assert "no advantage" in outcome.explain()
    assert outcome.to_json()["baseline_trials"] == 100
    with pytest.raises(ParameterError, match="targets"):
        Outcome("guessing", 0, 0, Control(0.5), pa.table({"a": [1]}))


def test_the_register_join_finds_exactly_the_unique() -> None:
    table = people(np.random.default_rng(1))
    keys = list(zip(*(table[name].to_pylist() for name in QUASI), strict=True))
    unique = sum(keys.count(each) == 1 for each in keys)
    outcome = attack.linkage(table.drop_columns(["illness"]), table, QUASI)
    assert (outcome.right, outcome.claims, outcome.false_claims) == (unique, unique, 0)
    order = np.random.default_rng(2).permutation(table.num_rows)
    shuffled = attack.linkage(table.take(pa.array(order)), table, QUASI, truth=np.argsort(order))
    assert shuffled.right == unique


def test_the_register_join_reads_generalised_cells() -> None:
    table = people(np.random.default_rng(3))
    (age,) = read_columns(read_frame(table), ["age"], "quasi")
    known: Any = {
        "age": intervals(age, [5, 10, 20], 0),
        "town": Hierarchy("town", {f"t{i}": (f"t{i}", "ab"[i % 2], "*") for i in range(6)}),
    }
    for hierarchies in (None, known):
        out = KAnonymity(4, QUASI, ["illness"], hierarchies=hierarchies).fit_transform(table)
        outcome = attack.linkage(out.table, table, QUASI, hierarchies=hierarchies)
        assert outcome.claims == 0
        fits = outcome.evidence["rows that fit"].to_numpy()
        sizes = [out.table.select(QUASI).to_pylist().count(row) for row in out.table.select(QUASI).to_pylist()]
        assert (fits >= np.array(sizes)).all()


def test_the_register_join_is_the_same_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(16)
    table = people(draws, 300)
    tree = {"town": Hierarchy("town", {f"t{i}": (f"t{i}", "ab"[i % 2], "*") for i in range(6)})}
    wide = KAnonymity(2, QUASI, ["illness"]).fit_transform(table)
    mixed: list[Any] = [{"t1": "a", "t2": "*", "t3": "{t3, t4}"}.get(each, each) for each in table["town"].to_pylist()]
    cases: list[tuple[pa.Table, Any]] = [
        (wide.table, None),
        (table.set_column(1, "town", pa.array(mixed)), tree),
        (table.set_column(1, "town", pa.array(["ab"[int(each[1]) % 2] for each in table["town"].to_pylist()])), tree),
    ]
    for release, hierarchies in cases:
        outcome = attack.linkage(release, table, QUASI, hierarchies=hierarchies)
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["discreet.attack.linkage._register"], "_BLOCK", 1000)
            again = attack.linkage(release, table, QUASI, hierarchies=hierarchies)
        assert again.evidence.equals(outcome.evidence)


def test_the_register_join_of_many_different_values_takes_little_memory() -> None:
    identifiers = pa.array(np.random.default_rng(17).permutation(100_000)[:20_000], pa.int64())
    table = pa.table([identifiers], ["id"])
    tracemalloc.start()
    try:
        assert attack.linkage(table, table, ["id"]).claims == 20_000
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # each value against each cell would be 400 MB
    finally:
        tracemalloc.stop()


def test_the_register_join_on_other_people_is_chance() -> None:
    draws = np.random.default_rng(4)
    outcome = attack.linkage(people(draws, 400), people(draws, 400), QUASI)
    assert is_chance(outcome)
    assert outcome.claims


def events(draws: np.random.Generator, viewers: int = 60) -> pa.Table:
    rows = [
        (v, int(film), float(draws.integers(1, 6))) for v in range(viewers) for film in draws.choice(300, 20, False)
    ]
    who, film, stars = (list(each) for each in zip(*rows, strict=True))
    return pa.table({"who": who, "film": film, "stars": stars})


def test_sparse_histories_are_found_and_others_are_not() -> None:
    draws = np.random.default_rng(5)
    release = events(draws)
    picked = np.concatenate([draws.choice(np.arange(20), 5, False) + 20 * v for v in range(60)])
    settings: Any = {"person": "who", "item": "film", "scales": {"stars": 1.5}}
    assert attack.histories(release, release.take(pa.array(picked)), **settings).success > 0.95
    strangers = attack.histories(release, events(draws), **settings)
    assert is_chance(strangers)
    absent = attack.histories(release, events(draws), truth={}, **settings)
    assert (absent.right, absent.baseline) == (0, 0.0)
    with pytest.raises(ParameterError, match="no column place"):
        attack.histories(release, release, person="who", item="place", scales={})


@pytest.mark.parametrize("name", ["differencing", "averaging", "tracker", "reconstruct"])
def test_exact_answers_give_bits_away_and_answers_about_others_do_not(name: str) -> None:
    draws = np.random.default_rng(6)
    secret, other = draws.random(64) < 0.5, draws.random(64) < 0.5
    targets: Any = list(range(64))
    more: Any = {"tracker": {"padding": np.arange(64) % 2 == 0}, "averaging": {"repeats": 2}}.get(name, {})

    def run(ask: Any) -> Outcome:
        if name == "reconstruct":
            return attack.reconstruct(ask, secret, queries=256)
        return getattr(attack, name)(ask, secret, targets, **more)

    assert run(exactly(secret)).success == 1.0
    assert is_chance(run(exactly(other)))


def test_averaging_takes_noise_away_that_is_drawn_anew() -> None:
    draws = np.random.default_rng(7)
    secret = draws.random(40) < 0.5
    noisy = lambda subset: float((subset & secret).sum() + draws.normal(0, 2))  # noqa: E731
    assert attack.averaging(noisy, secret, list(range(40)), repeats=400).success > 0.9
    assert attack.differencing(noisy, secret, list(range(40))).success < 0.9


def test_differencing_in_time_uses_both_answers() -> None:
    secret = np.array([True, False, True])
    later = exactly(secret)
    assert attack.differencing(exactly(secret), secret, [0, 1, 2], after=later).success == 1.0


def test_dinur_and_nissim_hold_where_errors_are_small() -> None:
    draws = np.random.default_rng(8)
    secret = draws.random(128) < 0.5
    near = lambda subset: float((subset & secret).sum() + draws.uniform(-1, 1) * 0.3 * 128**0.5)  # noqa: E731
    assert attack.reconstruct(near, secret, queries=512).success >= 0.95


@pytest.fixture
def session(tmp_path: Path) -> Any:
    secret = np.random.default_rng(9).random(40) < 0.5
    columns = {"id": {"type": "int", "bounds": [0, 100]}, "ill": {"type": "bool"}}
    policy = {
        "version": "1",
        "budget": {"epsilon": 1},
        "tables": {"people": {"unit": "rows", "columns": columns}},
    }
    table = pa.table({"id": np.arange(40), "ill": secret})
    with closing(dp.connect({"people": table}, policy=policy, ledger=str(tmp_path / "l.ledger"))) as opened:
        yield opened, secret


def test_through_the_ledger_reconstruction_is_near_chance(session: Any) -> None:
    asked, secret = session
    outcome = attack.reconstruction(
        asked, table="people", person="id", secret="ill", truth=secret, spend=dp.pure("1/50"), queries=50
    )
    # ε = 1 in total: a guess of a bit is right with probability e/(1 + e) at most, whatever the attack.
    assert outcome.right <= binom.isf(ALARM, 40, np.e / (1 + np.e))
    with pytest.raises(BudgetExceeded):
        attack.reconstruction(
            asked, table="people", person="id", secret="ill", truth=secret, spend=dp.pure("1/50"), queries=5
        )


def test_repeats_are_served_from_the_ledger(session: Any) -> None:
    asked, secret = session
    ask = attack.asker(asked, "people", "id", list(range(40)), "ill", dp.pure("0.02"))
    outcome = attack.averaging(ask, secret, [0, 1, 2, 3], repeats=20)
    assert outcome.right <= 4
    assert len({ask(np.ones(40, bool)) for _ in range(5)}) == 1


def test_homogeneity_and_its_control() -> None:
    draws = np.random.default_rng(10)
    table = people(draws, 600)
    out = KAnonymity(3, QUASI, ["illness"]).fit_transform(table)
    outcome = attack.homogeneity(out.table, QUASI, "illness")
    rows = out.table.to_pylist()
    only = sum(len({r["illness"] for r in rows if all(r[q] == row[q] for q in QUASI)}) == 1 for row in rows)
    assert (outcome.claims, outcome.false_claims) == (only, 0)
    assert outcome.advantage > 0.1
    assert (
        attack.homogeneity(KAnonymity(3, QUASI, ["illness"], l=2).fit_transform(table).table, QUASI, "illness").claims
        == 0
    )


def test_two_tables_leave_less_than_one() -> None:
    table = people(np.random.default_rng(11), 500)
    first = KAnonymity(3, QUASI, ["illness"], l=2, weights={"age": 10}).fit_transform(table)
    second = KAnonymity(3, QUASI, ["illness"], l=2, weights={"town": 10}).fit_transform(table)
    outcome = attack.intersection(first.table, second.table, QUASI, "illness")
    assert (outcome.baseline, outcome.false_claims) == (0.0, 0)
    assert outcome.right == outcome.claims > 0
    alone = attack.intersection(first.table, second.table, QUASI, "illness", truth=np.full(500, -1))
    assert alone.claims == 0
    with pytest.raises(ParameterError, match="truth"):
        attack.intersection(first.table, second.table.slice(1), QUASI, "illness")


def test_a_second_table_of_other_people_adds_nothing() -> None:
    draws = np.random.default_rng(15)
    for weight in (10, 1):
        first = KAnonymity(3, QUASI, ["illness"], l=2, weights={"age": weight}).fit_transform(people(draws, 2000))
        other = KAnonymity(3, QUASI, ["illness"], weights={"town": 10}).fit_transform(people(draws, 2000))
        outcome = attack.intersection(first.table, other.table, QUASI, "illness")
        assert outcome.claims  # some of them right by chance: a control that never guesses would call that an advantage
        low, high = outcome.advantage_interval(1 - ALARM)
        assert low <= 0 <= high


def test_downcoding_takes_no_interval_of_a_hierarchy_for_minimal() -> None:
    original = pa.table({"age": [21, 21, 21]})
    release, prior = pa.table({"age": ["[20, 30)"] * 3}), pa.table({"age": [21] * 100 + [29]})
    (age,) = read_columns(read_frame(prior), ["age"], "quasi")
    tree = intervals(age, [10], 0)
    assert attack.downcoding(release, original, ["age"], prior=prior, hierarchies={"age": tree}).right == 3
    assert attack.downcoding(release, original, ["age"], prior=prior).right == 2  # both ends are taken to be there


def test_sets_list_values_that_have_commas() -> None:
    people_there = pa.table({"town": ["Portland, ME", "Boston"]})
    release = pa.table({"town": ["{Boston, Portland, ME}"] * 2})
    fits = attack.linkage(release, people_there, ["town"]).evidence["rows that fit"].to_pylist()
    assert fits == [2, 2]


def test_nan_is_one_value_and_not_unique_everywhere() -> None:
    nan = float("nan")
    table = pa.table({"age": [nan, nan, 30.0, 30.0], "illness": ["flu", "gout", "flu", "flu"]})
    assert attack.homogeneity(table, ["age"], "illness").claims == 2
    assert attack.linkage(table, table, ["age"]).claims == 0
    starred = table.set_column(0, "age", pa.array(["*"] * 4))
    assert attack.downcoding(starred, table, ["age"]).targets == 4


def test_events_without_a_rating_count_for_nobody() -> None:
    release = pa.table({"who": [1, 1, 2, 2], "film": ["a", "b", "a", "c"], "stars": [float("nan"), None, 3.0, 4.0]})
    known = pa.table({"who": [2, 2], "film": ["a", "c"], "stars": [3.0, 4.0]})
    settings: Any = {"person": "who", "item": "film"}
    assert attack.histories(release, known, scales={"stars": 1.5}, **settings).right == 1
    with pytest.raises(ParameterError, match="scale of stars"):
        attack.histories(release, known, scales={"stars": 0.0}, **settings)
    with pytest.raises(ParameterError, match="column film is of type"):
        attack.histories(release, known, scales={"film": 1.0}, **settings)


def test_dates_of_events_are_compared_in_seconds() -> None:
    days = np.array(["2020-01-01", "2020-01-02", "2020-03-01"], "datetime64[D]")
    release = pa.table({"who": [1, 2, 3], "film": ["a"] * 3, "day": pa.array(days)})
    known = pa.table({"who": [2], "film": ["a"], "day": pa.array(days[1:2])})
    assert attack.histories(release, known, person="who", item="film", scales={"day": 86400.0}).right == 1


def test_downcoding_beats_the_prior_where_cells_are_minimal() -> None:
    table = people(np.random.default_rng(12), 500)
    out = KAnonymity(3, QUASI, ["illness"]).fit_transform(table)
    outcome = attack.downcoding(out.table, table, QUASI)
    assert outcome.advantage_interval(1 - 1e-6)[0] > 0.2
    with pytest.raises(ParameterError, match="nothing to guess"):
        attack.downcoding(table, table, QUASI)


def test_downcoding_with_cells_of_everything_is_the_prior() -> None:
    table = people(np.random.default_rng(13), 500)
    starred = table.set_column(1, "town", pa.array(["*"] * 500)).set_column(0, "age", pa.array(["*"] * 500))
    outcome = attack.downcoding(starred, table, QUASI)
    assert outcome.advantage == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda t: attack.linkage(t, t, ["county"]),
        lambda t: attack.linkage(t, t, []),
        lambda t: attack.linkage(t.slice(0, 0), t.slice(0, 0), QUASI),
        lambda t: attack.homogeneity(t.slice(0, 0), QUASI, "illness"),
        lambda t: attack.linkage(t, t.slice(1), QUASI),
        lambda t: attack.linkage(t, t, QUASI, truth=[1, 2]),
        lambda t: attack.homogeneity(t, QUASI, "county"),
        lambda t: attack.homogeneity(t, [], "illness"),
        lambda t: attack.downcoding(t, t.slice(1), QUASI),
        lambda t: attack.differencing(lambda s: 0.0, np.ones(3, bool), [3]),
        lambda t: attack.differencing(lambda s: 0.0, np.ones(3, bool), []),
        lambda t: attack.tracker(lambda s: 0.0, np.ones(3, bool), [0], padding=np.ones(3, bool)),
        lambda t: attack.averaging(lambda s: 0.0, np.ones(3, bool), [0], repeats=0),
        lambda t: attack.reconstruct(lambda s: 0.0, np.ones(0, bool)),
        lambda t: attack.reconstruct(lambda s: float("nan"), np.ones(3, bool), queries=4),
        lambda t: attack.reconstruct(lambda s: float("inf"), np.ones(3, bool), queries=4),
        lambda t: attack.reconstruct(lambda s: 0.0, np.arange(3), queries=4),  # pyright: ignore[reportArgumentType]
        lambda t: attack.differencing(lambda s: float("nan"), np.ones(3, bool), [0]),
        lambda t: attack.differencing(lambda s: 0.0, np.arange(3), [0]),  # pyright: ignore[reportArgumentType]
        lambda t: Outcome("guessing", 4, 3, Control(0.5), t),
        lambda t: attack.asker(None, "t", "id", ["1; DROP"], "x", dp.pure(1)),  # pyright: ignore[reportArgumentType]
    ],
)  # fmt: skip
def test_what_cannot_be_attacked_is_refused(call: Callable[[pa.Table], Any]) -> None:
    with pytest.raises(ParameterError):
        call(people(np.random.default_rng(14), 30))
