"""Minimality: beliefs are those of all deals that are minimal, by brute force; other tables tell nothing; refusals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from discreet import attack
from discreet.anonymize import Condition, KAnonymity, LDiversity, TCloseness, intervals, taxonomy
from discreet.anonymize.tables import read_columns, read_frame
from discreet.errors import ParameterError

QUASI = ["age", "town"]
ALARM = 1e-9
Cuts = list[list[bool]]
Fails = Callable[[list[str]], bool]


def people(
    draws: np.random.Generator, rows: int = 800, chances: tuple[float, ...] = (0.6, 0.2, 0.15, 0.05)
) -> pa.Table:
    return pa.table(
        {
            "age": pa.array(draws.integers(20, 60, rows)),
            "town": pa.array([f"t{each}" for each in draws.integers(0, 5, rows)]),
            "illness": pa.array([f"i{each}" for each in draws.choice(len(chances), rows, p=chances)]),
        }
    )


def has_one_value(half: list[str]) -> bool:
    return len(set(half)) < 2


def brute(values: list[str], cuts: Cuts, fails: Fails) -> list[dict[str, float]]:
    """Of each person how often each value is theirs, over all orders of values in which each cut has a bad half."""
    minimal = [
        order
        for order in permutations(values)
        if all(
            fails([v for v, is_left in zip(order, cut, strict=True) if is_left])
            or fails([v for v, is_left in zip(order, cut, strict=True) if not is_left])
            for cut in cuts
        )
    ]
    return [{v: sum(each[i] == v for each in minimal) / len(minimal) for v in values} for i in range(len(values))]


def agree(outcome: attack.Outcome, expected: list[dict[str, float]], draws: int) -> None:
    for row in outcome.evidence.to_pylist():
        belief = expected[row["row"]]
        # A tenth of the deals or more are kept in these cases; the share of the class counts as one deal.
        reach = 2 / (draws / 10) + 6.5 * (0.25 / (draws / 10)) ** 0.5
        assert row["belief"] == pytest.approx(belief[row["guess"]], abs=reach)
        assert max(belief.values()) - belief[row["guess"]] <= 2 * reach


def test_beliefs_are_those_of_all_minimal_deals() -> None:
    ages = [20, 20, 21, 30, 30, 31, 31]
    illness = ["a", "a", "b", "b", "b", "b", "b"]
    original = pa.table({"age": ages, "illness": illness})
    release = pa.table({"age": ["[20, 31]"] * 7, "illness": illness[::-1]})
    cuts = [[age <= last for age in ages] for last in (20, 21, 30)]

    def is_far(half: list[str]) -> bool:
        return abs(half.count("a") / len(half) - 2 / 7) > 0.2

    conditions: list[tuple[Condition, Fails]] = [
        (LDiversity("illness", 2), has_one_value),
        (TCloseness("illness", 0.2), is_far),
    ]
    for condition, fails in conditions:
        outcome = attack.minimality(release, original, ["age"], condition, k=2, draws=20_000)
        agree(outcome, brute(illness, cuts, fails), 20_000)


def test_cuts_too_small_for_k_say_nothing_of_the_condition() -> None:
    ages, illness = [20, 20, 21, 30, 30, 31, 31], ["a", "a", "b", "b", "b", "b", "b"]
    original = pa.table({"age": ages, "illness": illness})
    release = pa.table({"age": ["[20, 31]"] * 7, "illness": illness})
    one_cut = [[age <= 21 for age in ages]]
    outcome = attack.minimality(release, original, ["age"], LDiversity("illness", 2), k=3, draws=20_000)
    agree(outcome, brute(illness, one_cut, has_one_value), 20_000)
    with pytest.raises(ParameterError, match="minimality tells nothing"):
        attack.minimality(release, original, ["age"], LDiversity("illness", 2), k=4)


def test_categories_are_cut_where_the_algorithm_tried_it() -> None:
    towns, illness = ["x", "y", "y", "z", "z", "z"], ["a", "a", "b", "b", "b", "b"]
    original = pa.table({"town": towns, "illness": illness})
    tree = taxonomy("town", [["x", "north", "*"], ["y", "north", "*"], ["z", "south", "*"]])
    by_frequency = [[town == "z" for town in towns], [town != "x" for town in towns]]
    by_tree = [[town == "z" for town in towns]]
    for trees, cuts, cell in ((None, by_frequency, "{x, y, z}"), ({"town": tree}, by_tree, "*")):
        release = pa.table({"town": [cell] * 6, "age": ["1"] * 6, "illness": illness})
        known = original.append_column("age", pa.array(["1"] * 6))
        outcome = attack.minimality(
            release, known, ["town", "age"], LDiversity("illness", 2), hierarchies=trees, draws=20_000
        )
        agree(outcome, brute(illness, cuts, has_one_value), 20_000)


@pytest.mark.parametrize("method", ["best", "fast"])
def test_every_cut_that_is_taken_as_tried_was_refused(method: Any) -> None:
    """The true values are among the deals that are kept, on tables that the algorithms made."""
    draws = np.random.default_rng(31)
    for trees in (False, True):
        table = people(draws, 500, (0.9, 0.1))
        (age,) = read_columns(read_frame(table), ["age"], "quasi")
        rows = [[f"t{i}", "ab"[i % 2], "*"] for i in range(5)]
        known = (
            {"age": intervals(age, [5, 10, 20], 0), "town": taxonomy("town", rows)}
            if trees and method == "best"
            else None
        )
        out = KAnonymity(5, QUASI, ["illness"], l=2, method=method, hierarchies=known).fit_transform(table)
        outcome = attack.minimality(
            out.table, table, QUASI, LDiversity("illness", 2), k=5, method=method, hierarchies=known, draws=4000
        )
        # A belief of 1, but for the class's own share that counts as one deal, is a proof.
        proven = [row for row in outcome.evidence.to_pylist() if row["belief"] > 1 - 1e-3]
        assert all(row["right"] for row in proven)
        beliefs, right = (outcome.evidence[name].to_numpy().astype(float) for name in ("belief", "right"))
        spread = float((beliefs * (1 - beliefs)).sum()) ** 0.5
        assert abs(right.sum() - beliefs.sum()) < 6.5 * spread + 0.02 * len(beliefs)


def towns(draws: np.random.Generator, count: int) -> pa.Table:
    """Towns of nine people by number of house: three are ill, four times of five of those four in the first house."""
    rows = [1, 1, 1, 1, 2, 3, 4, 5, 6]
    illness: list[str] = []
    for _ in range(count):
        ill = draws.permutation(4)[:3] if draws.random() < 0.8 else np.array([6, 7, 8])
        illness += ["gout" if i in ill else "flu" for i in range(9)]
    house = [100 * town + each for town in range(count) for each in rows]
    return pa.table({"house": house, "illness": illness})


def test_minimality_tells_more_than_the_class() -> None:
    table = towns(np.random.default_rng(32), 100)
    out = KAnonymity(3, ["house"], ["illness"], l=2).fit_transform(table)
    assert out.verdict.classes == 100
    outcome = attack.minimality(out.table, table, ["house"], LDiversity("illness", 2), k=3, draws=10_000)
    assert (outcome.claims, outcome.false_claims) == (200, 0)  # the fifth and the sixth have no gout
    assert outcome.advantage_interval(1 - ALARM)[0] > 0
    assert outcome.right > outcome.evidence["right by the class alone"].to_numpy().sum() + 20
    by_place = outcome.evidence["belief"].to_numpy().reshape(100, 9).mean(axis=0)
    assert by_place[[0, 4, 8]] == pytest.approx([0.6, 1, 0.8], abs=0.05)


def test_a_table_of_other_values_is_chance() -> None:
    draws = np.random.default_rng(33)
    for level, chances in ((4, (0.25,) * 4), (2, (0.8, 0.1, 0.1))):
        table = people(draws, 1500, chances)
        dealt = table.set_column(2, "illness", table["illness"].take(pa.array(draws.permutation(1500), pa.int64())))
        for method in ("best", "fast"):
            out = KAnonymity(3, QUASI, ["illness"], l=level, method=method).fit_transform(dealt)
            outcome = attack.minimality(out.table, table, QUASI, LDiversity("illness", level), k=3, method=method)
            low, high = binom.interval(1 - ALARM, outcome.targets, outcome.baseline)
            assert low <= outcome.right <= high


def test_suppressed_rows_are_no_class() -> None:
    original = pa.table({"age": [20, 20, 30, 30] * 2, "illness": ["a", "b"] * 4})
    cells = ["[20, 30]"] * 4 + ["*"] * 4
    release = pa.table({"age": cells, "illness": ["a", "b"] * 4})
    outcome = attack.minimality(release, original, ["age"], LDiversity("illness", 2), k=2)
    assert outcome.evidence["row"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "k and draws"),
        ({"draws": 0}, "k and draws"),
        ({"sure": 0.0}, "sure"),
        ({"method": "datafly"}, "not known what they tried"),
        ({"quasi": ["county"]}, "no column county"),
        ({"quasi": []}, "name the quasi-identifiers"),
        ({"condition": LDiversity("salary", 2)}, "salary"),
        ({"condition": LDiversity("illness", 9)}, "lower l"),
        ({"original": pa.table({"age": [1]})}, "rows and the original"),
        ({"original": pa.table({"age": [1, 2, 3, 4]})}, "illness"),
        ({"release": pa.table({"age": pa.array([], pa.int64()), "illness": pa.array([], pa.string())})}, "no rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_guessed_is_refused(change: dict[str, Any], words: str) -> None:
    table = pa.table({"age": [20, 20, 30, 30], "illness": ["a", "b", "a", "b"]})
    release = table.set_column(0, "age", pa.array(["[20, 30]"] * 4))
    condition: Condition = LDiversity("illness", 2)
    given: dict[str, Any] = {"release": release, "original": table, "quasi": ["age"], "condition": condition, **change}
    with pytest.raises(ParameterError, match=words):
        attack.minimality(
            given.pop("release"), given.pop("original"), given.pop("quasi"), given.pop("condition"), **given
        )
