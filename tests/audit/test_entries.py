"""The audit of our own mechanisms has all of them, finds no fault in any, and is able to."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable
from dataclasses import replace

import pytest
from rich.console import Console

from discreet import mechanisms
from discreet.audit.black_box._check import Pair
from discreet.audit.black_box._subject import Draws
from discreet.audit.catalog._entries import entries, entries_table, find_entry, run_entries
from discreet.audit.catalog._entry import Entry
from discreet.audit.catalog._queries import sql_entries
from discreet.errors import ParameterError
from discreet.local.examples import examples as schemes
from discreet.privacy import in_words, pure

pytestmark = pytest.mark.usefixtures("one_database")

RELEASING = [name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "release")]

ALARM = 1e-9 / len(entries())
"""So that all of the verdicts here together are wrong with probability 1e-9."""

SURE = (
    "DiscreteLaplace",
    "Laplace",
    "Staircase wide",
    "BoundedLaplace",
    "TruncatedLaplace",
    "Gaussian",
    "DiscreteGaussian",
    "PartitionSelection",
    "ThresholdedCounts laplace",
    "RandomizedResponse 2",
    "RandomizedResponse 5",
)
"""Entries that are cheap to draw from by the hundred thousand."""


@pytest.mark.parametrize("name", [name for name in RELEASING if name != "Mechanism"])
def test_every_mechanism_is_in_the_audit(name: str) -> None:
    assert name in {entry.kind.__name__ for entry in entries() if entry.kind is not None}, (
        f"{name} releases, and no entry of discreet.audit holds it to its claim; add a setting to its example"
    )


def test_every_scheme_is_in_the_audit() -> None:
    names = {entry.name for entry in entries()}
    assert {f"local {example.name}" for example in schemes()} <= names


def test_every_sql_statistic_is_in_the_audit() -> None:
    """`test_sql_entries.py` holds that those are all that the planner takes."""
    assert [f"SQL {each.name}" for each in sql_entries()] == [entry.name for entry in entries() if entry.kind is None]


def test_every_variant_is_in_the_audit() -> None:
    """Each noise of a mechanism that has several, under the name that the mechanism gives it."""
    names = {entry.name for entry in entries()}
    assert {f"ReportNoisyMax {noise}" for noise in ("exponential", "gumbel", "laplace")} <= names
    smooth = ("laplace", "cauchy", "student_t", "uniform_log_normal", "laplace_log_normal")
    assert {f"SmoothSensitivity {noise}" for noise in smooth} <= names
    assert {f"SampleAndAggregate {aggregator}" for aggregator in ("mean", "median")} <= names
    assert {f"Quantiles {method}" for method in ("recursive", "joint")} <= names


def test_names_are_unique_whatever_their_case() -> None:
    assert len({entry.name.casefold() for entry in entries()}) == len(entries())


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_entries_say_what_they_are(entry: Entry) -> None:
    assert entry.group
    assert entry.shown
    assert entry.note
    begins = "SQL " if entry.kind is None else entry.kind.__name__
    assert entry.name.removeprefix("local ").startswith(begins)
    assert entry.shown.startswith(("SELECT ", "WITH ") if entry.kind is None else begins)
    assert in_words(entry.claim)
    for data in [] if entry.kind is None else [data for pair in entry.pairs for data in pair]:
        entry.once(data)  # those of SQL answer in the next test


SLOW = {"TopK", "Quantiles recursive", "Quantiles joint three", "SQL PIVOT"}


def _is_long(place: int, entry: Entry) -> bool:
    """Eleven queries of twelve are for the soak: `test_sql_entries.py` tells of each, exactly, what its pair loses.

    So are three mechanisms of four: `test_own_laws.py` enumerates the law of each.
    """
    slow = entry.name in SLOW or (entry.group == "learning" and entry.name != "Model by naive_bayes")
    return slow or place % (12 if entry.kind is None else 4) > 0


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.soak] * _is_long(place, each))
        for place, each in enumerate(entries())
    ],
)
def test_no_claim_is_refuted(entry: Entry) -> None:
    """All together raise a false alarm with probability 1e-9. Few outputs of what is slow: gross faults alone show."""
    samples = 20_000 if entry.samples >= 1_000_000 else 200 * len(entry.pairs)
    if entry.kind is None:
        drawn = Drawn(entry.draws, entry.pairs, samples // 2 + 1)
        assert not any("refused" in output for outputs in drawn.outputs.values() for output in outputs)
        entry = replace(entry, mechanism=drawn)
    assert not entry.check(samples=samples, confidence=1 - ALARM).violated


class Drawn:
    """Outputs drawn at once for all that an audit asks for: a query is planned and opened once for each database."""

    def __init__(self, draws: Draws, pairs: Iterable[Pair], size: int) -> None:
        self.outputs = {id(data): list(draws.draw(data, size)) for pair in pairs for data in pair}
        self._used = dict.fromkeys(self.outputs, 0)

    def draw(self, data: object, size: int) -> list[object]:
        start = self._used[id(data)]
        self._used[id(data)] += size
        assert self._used[id(data)] <= len(self.outputs[id(data)])
        return self.outputs[id(data)][start : start + size]


@pytest.mark.parametrize("name", SURE)
def test_what_is_attained_is_certified(name: str) -> None:
    """More than 0.8 of the claim, which is six standard deviations of its log-ratio below what is to be expected."""
    [found] = run_entries([name], samples=400_000, confidence=1 - ALARM)
    assert not found.violated
    assert found.ratio > 0.8


@pytest.mark.parametrize("name", SURE)
def test_half_of_the_claim_is_refuted(name: str) -> None:
    """The audit is able to fail: the same outputs against a claim of half the ε at no greater δ."""
    entry = find_entry(name)
    half = replace(entry, claim=pure(entry.check(samples=1_000).claimed / 2), delta=None)
    assert half.check(samples=100_000, confidence=1 - ALARM).violated


def test_other_names_are_refused_with_those_that_are_near() -> None:
    with pytest.raises(ParameterError, match="near are ReportNoisyMax gumbel"):
        find_entry("ReportNoisyMaxgumbel")
    with pytest.raises(ParameterError, match="see discreet"):
        run_entries(["%%%"])


def test_names_are_found_in_any_case() -> None:
    assert find_entry("toPK").kind is mechanisms.TopK


def test_progress_says_which_entry_is_drawn_from() -> None:
    told: list[tuple[str, int, int]] = []
    run_entries(["Laplace"], samples=1_000, progress=lambda entry, done, total: told.append((entry.name, done, total)))
    assert told[-1] == ("Laplace", 1_000, 1_000)


def test_the_table_has_a_row_for_each() -> None:
    rows = run_entries(["DiscreteLaplace", "RandomizedResponse 5"], samples=2_000)
    console = Console(width=160, file=io.StringIO())
    console.print(entries_table(rows))
    text = console.file.getvalue()
    assert "RandomizedResponse 5" in text
    assert "2,000" in text
    for row in rows:
        _, claimed, certified = row.verdict.nearest
        assert f"{claimed:.4g}" in text
        assert f"{certified:.4g}" in text


def test_a_violation_stands_out_in_the_table() -> None:
    wrong = replace(find_entry("DiscreteLaplace"), claim=pure("0.1"))
    console = Console(width=160, file=io.StringIO())
    console.print(entries_table(run_entries([wrong], samples=20_000)))
    assert "VIOLATED" in console.file.getvalue()


def test_entries_are_not_made_before_they_are_asked_for() -> None:
    module = importlib.import_module("discreet.audit.catalog._entries")
    assert not any(isinstance(value, Entry) for value in vars(module).values())
