"""The verifier against definitions written out in plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonymize.brute import classes_of, spread_of
from anonymize.conftest import random_table
from discreet.anonymize import verify
from discreet.errors import ParameterError

QUASI = ["age", "town", "trade"]


def agrees(draws: np.random.Generator) -> None:
    table = random_table(draws, int(draws.integers(1, 60)))
    quasi = list(draws.permutation(QUASI)[: int(draws.integers(1, 4))])
    if draws.integers(0, 2):  # as an algorithm leaves it: fewer classes
        table = table.set_column(0, "age", pa.array([f"[{each // 20 * 20}]" for each in table["age"].to_pylist()]))
    rows = table.to_pylist()
    verdict = verify(table, quasi, ["illness", "cost"])
    classes = classes_of(rows, quasi)
    assert (verdict.k, verdict.classes, verdict.rows) == (min(map(len, classes)), len(classes), len(rows))
    for name in ("illness", "cost"):
        each = verdict.spreads[name]
        ours = (each.distinct, each.entropy, each.recursive, each.equal, each.ordered)
        assert ours == pytest.approx(spread_of(rows, quasi, name), abs=1e-12)


def test_it_agrees_with_brute_force() -> None:
    draws = np.random.default_rng(1)
    for _ in range(100):
        agrees(draws)


@pytest.mark.soak
def test_it_agrees_with_brute_force_on_1000_tables() -> None:
    draws = np.random.default_rng(2)
    for _ in range(1000):
        agrees(draws)


def test_it_finds_planted_violations() -> None:
    draws = np.random.default_rng(3)
    clean = pa.table({"q": np.repeat(np.arange(50), 10).astype(str), "s": np.tile(["a", "b"], 250)})
    assert (verify(clean, ["q"], ["s"]).k, verify(clean, ["q"], ["s"]).spreads["s"].distinct) == (10, 2)
    for _ in range(50):
        alone = int(draws.integers(0, 500))
        cells = clean["q"].to_pylist()
        cells[alone] = "only me"
        broken = clean.set_column(0, "q", pa.array(cells))
        verdict = verify(broken, ["q"], ["s"])
        assert verdict.k == 1
        assert verdict.smallest[0] == {"q": "only me", "rows": 1}
        same = int(draws.integers(0, 50))
        illness = ["a" if i // 10 == same else value for i, value in enumerate(clean["s"].to_pylist())]
        assert verify(clean.set_column(1, "s", pa.array(illness)), ["q"], ["s"]).spreads["s"].distinct == 1


def test_nulls_are_values_of_their_own() -> None:
    verdict = verify(pa.table({"q": ["a", None, None, "a"], "s": [None, "x", "y", None]}), ["q"], ["s"])
    assert (verdict.k, verdict.spreads["s"].distinct) == (2, 1)


@pytest.mark.parametrize(
    ("table", "quasi", "sensitive", "words"),
    [
        (pa.table({"a": pa.array([], pa.string())}), ["a"], [], "no rows"),
        (pa.table({"a": ["x"]}), [], [], "name the quasi-identifiers"),
        (pa.table({"a": ["x"]}), ["b"], [], "no column b"),
        (pa.table({"a": ["x"]}), ["a"], ["a"], "choose one"),
        ([1, 2], ["a"], [], "give a table"),
    ],
)
def test_what_cannot_be_verified_is_refused(table: object, quasi: list[str], sensitive: list[str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        verify(table, quasi, sensitive)
