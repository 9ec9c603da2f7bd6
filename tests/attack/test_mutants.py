"""Broken attacks are caught: what the tests ask of the true ones, they do not pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from discreet import attack
from discreet.anonymize import LDiversity
from discreet.attack.anonymized import _minimality
from discreet.attack.linkage import _histories

ALARM = 1e-9


def is_chance(right: int, targets: int, chance: float) -> bool:
    low, high = binom.interval(1 - ALARM, targets, chance)
    return bool(low <= right <= high)


def events(draws: np.random.Generator, viewers: int = 300) -> pa.Table:
    films = np.array([draws.choice(300, 20, replace=False) for _ in range(viewers)]).ravel()
    return pa.table({
        "who": np.repeat(np.arange(viewers), 20),
        "film": films,
        "stars": draws.integers(1, 6, len(films)).astype(float),
    })  # fmt: skip


def claims_of_strangers(**settings: Any) -> tuple[int, int]:
    """How many of people who are not in the release are claimed, who are known by eight events each."""
    draws = np.random.default_rng(5)
    release, others = events(draws), events(draws)
    picked = np.concatenate([draws.choice(np.arange(20), 8, replace=False) + 20 * v for v in range(300)])
    outcome = attack.histories(
        release,
        others.take(pa.array(picked)),
        person="who",
        item="film",
        scales={"stars": 1.5},
        truth={},
        **settings,
    )
    assert outcome.claims == outcome.false_claims
    return outcome.claims or 0, outcome.targets


def test_eccentricity_ignored_claims_people_who_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    claims, targets = claims_of_strangers(eccentricity=1.5)
    assert claims <= targets / 5
    best = _histories._best
    monkeypatch.setattr(_histories, "_best", lambda scores: (best(scores)[0], float("inf")))
    claims, targets = claims_of_strangers(eccentricity=1.5)
    assert claims == targets


ORIGINAL = pa.table({"age": [20, 20, 21, 30, 30, 31, 31], "illness": ["a", "a", "b", "b", "b", "b", "b"]})
RELEASE = pa.table({"age": ["[20, 31]"] * 7, "illness": ["b"] * 5 + ["a"] * 2})


def believed() -> list[float]:
    """How likely each person has illness a, as the attack believes; the guess of b is told as 1 less."""
    outcome = attack.minimality(RELEASE, ORIGINAL, ["age"], LDiversity("illness", 2), k=2, draws=20_000)
    rows = sorted(outcome.evidence.to_pylist(), key=lambda row: row["row"])
    return [row["belief"] if row["guess"] == "a" else 1 - row["belief"] for row in rows]


def expected() -> list[float]:
    """The same over all places of the two a's."""
    places = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    cuts = [(2, 5), (3, 4), (5, 2)]
    kept = [place for place in places if all(sum(i < left for i in place) in {0, 2} or left < 2 for left, _ in cuts)]
    return [sum(i in place for place in kept) / len(kept) for i in range(7)]


def is_right(beliefs: list[float]) -> bool:
    # A seventh of the deals is kept, more than 2,500: 6.5 standard deviations, and the share that counts as one deal.
    return bool(np.allclose(beliefs, expected(), atol=6.5 * (0.25 / 2_500) ** 0.5 + 1e-3))


def test_minimality_with_any_deal_or_the_true_one_believes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_right(believed())
    true_beliefs = _minimality._believed
    for mutant in ("every deal", "one deal", "no cut"):
        with monkeypatch.context() as patched:
            match mutant:
                case "every deal":  # deals are kept whether they are minimal or not
                    patched.setattr(_minimality, "_believed", lambda *given: np.tile(given[3], (7, 1)))
                case "one deal":  # the values of the release are taken to be in order
                    patched.setattr(_minimality, "permutation", np.arange)
                case _:  # only one of the cuts is taken as tried
                    patched.setattr(
                        _minimality, "_believed", lambda codes, cuts, *more: true_beliefs(codes, cuts[:1], *more)
                    )
            assert not is_right(believed())


def test_suppressed_rows_counted_as_a_class_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cut was refused for rows of stars: minimality tells nothing of them, and they are no targets."""
    original = pa.table({"age": [20, 20, 30, 30] * 2, "illness": ["a", "b"] * 4})
    release = pa.table({"age": ["[20, 30]"] * 4 + ["*"] * 4, "illness": ["a", "b"] * 4})

    def targets() -> list[int]:
        outcome = attack.minimality(release, original, ["age"], LDiversity("illness", 2), k=2)
        return outcome.evidence["row"].to_pylist()

    assert targets() == [0, 1, 2, 3]
    monkeypatch.setattr(_minimality, "ANY", "no such cell")
    assert targets() == list(range(8))


def test_tables_of_other_blocks_rebuild_nobody() -> None:
    """Microdata of one block are those of another as often as the national table's guess is, and no more."""
    draws = np.random.default_rng(11)
    columns: Any = {"sex": ["F", "M"], "age": list(range(20, 40)), "race": ["a", "b", "c"]}
    sizes = [len(each) for each in columns.values()]

    def block() -> pa.Table:
        return pa.table({
            name: [values[i] for i in draws.integers(0, size, 6)]
            for (name, values), size in zip(columns.items(), sizes, strict=True)
        })  # fmt: skip

    def tables(people: pa.Table) -> list[pa.Table]:
        return [
            people.group_by(names).aggregate([([], "count_all")]).rename_columns([*names, "n"])
            for names in (["sex", "age"], ["age", "race"])
        ]

    national = pa.concat_tables([block() for _ in range(100)])
    own = other = targets = 0
    for _ in range(60):
        people, stranger = block(), block()
        own += attack.microdata(tables(people), columns).against(people, national).right
        other += attack.microdata(tables(stranger), columns).against(people, national).right
        targets += 6
    # Kinds are equally likely: a guess of six different ones has each with a chance of 1 in 120 a person.
    assert is_chance(other, targets, 6 / 120)
    assert not is_chance(own, targets, 6 / 120)
