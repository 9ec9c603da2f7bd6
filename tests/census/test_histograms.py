"""Histograms through a session: charges, certificates, errors, refusals; and mutants that these would miss nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import census
from discreet.census.histograms import CountCells, Histogram, PreparedHistogram
from discreet.census.histograms import _kind as kind_module
from discreet.census.histograms import _question as question_module
from discreet.census.histograms._aware import is_spread
from discreet.census.histograms._measured import Measured
from discreet.errors import DiscreetError, LedgerError, ParameterError, QueryError
from discreet.ledger import verify_release
from discreet.marginals.strategies import Partition
from discreet.mechanisms import DiscreteLaplace
from discreet.policy import load_policy
from discreet.prices import Purse
from discreet.release import ReleaseContext, Terms, parse_release_file, verify_loss

CELLS = 256
PEOPLE = pa.table({"person": list(range(3_000)), "income": [1 + (i * i) % 60 for i in range(3_000)]})
SPENDS = {"pure": dp.pure(1), "rho": dp.rho("0.5"), "mu": dp.mu(1), "approx": dp.approx(1, "1e-6")}
BUDGETS = {
    "pure": {"epsilon": 2},
    "rho": {"rho": 1},
    "mu": {"mu": 2},
    "approx": {"epsilon": 2, "delta": "1e-5"},
}


def policy(currency: str = "pure", relation: str = "add_remove") -> dict[str, Any]:
    columns = {"person": {"type": "int"}, "income": {"type": "int", "bounds": [1, CELLS], "nullable": False}}
    table = {"unit": "person", "max_rows": 1, "columns": columns}
    return {"version": "1", "relation": relation, "budget": BUDGETS[currency], "tables": {"people": table}}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("currency", SPENDS)
@pytest.mark.parametrize("workload", ["ranges", "prefixes", [(1, 40), (20, 50), (41, 256)]])
def test_a_histogram_is_charged_verified_stored_and_near(currency: str, relation: str, workload: Any) -> None:
    exact = np.bincount(np.array(PEOPLE["income"]), minlength=CELLS + 1)
    with dp.connect({"people": PEOPLE}, policy(currency, relation)) as session:
        made = census.histogram(session, "income", cells=CELLS, workload=workload, spend=SPENDS[currency])
        left = session.remaining
        again = census.histogram(session, "income", cells=CELLS, workload=workload, spend=SPENDS[currency])
        assert again.to_bytes() == made.to_bytes()
        assert session.remaining == left
    counted = made.range(1, 40)
    lower, upper = counted.interval(1 - 1e-9)
    assert lower <= exact[1:41].sum() <= upper
    assert counted.unbiased is not None and abs(counted.value - exact[1:41].sum()) < 12 * counted.standard_error + 10
    assert all(each >= 0 for each in made.values)
    assert Histogram.from_bytes(made.to_bytes()).to_bytes() == made.to_bytes()
    checks = {each.name: each.result for each in verify_release(parse_release_file(made.to_bytes()))}
    assert checks["loss"] == checks["answer"] == "good"
    table = made.table()
    assert table["value"].to_pylist() == list(made.values)
    assert "income" in repr(made)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("epsilon", [1, "0.02"])
def test_a_data_aware_histogram_has_unbiased_numbers_beside_its_integers(
    epsilon: Any, spread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways, whatever the first blocks show. Intervals of 1 - 1e-9 hold."""
    monkeypatch.setattr(question_module, "is_spread", lambda first: spread)
    spend = dp.pure(epsilon)
    with dp.connect({"people": PEOPLE}, policy()) as session:
        made = census.histogram(session, "income", cells=CELLS, spend=spend, data_aware=True)
        plan = census.plan_histogram(session, "income", cells=CELLS, spend=spend, data_aware=True)
    verify_loss(made.certificate)
    assert Histogram.from_bytes(made.to_bytes()).to_bytes() == made.to_bytes()
    assert (made.partition is None) == spread
    counted = made.range(3, 90)
    exact = np.bincount(np.array(PEOPLE["income"]), minlength=CELLS + 1)[3:91].sum()
    low, high = counted.interval(1 - 1e-9)
    assert low <= exact <= high
    assert 0 < counted.standard_error < 3 * plan.error
    assert len(made.values) == CELLS
    assert min(made.values) >= 0


def test_which_way_is_taken_follows_from_the_first_blocks() -> None:
    noise = DiscreteLaplace(10)
    for counts, spread in (([99, 99, 99, 0], True), ([999, 99, -99, 42], False), ([99] * 3 + [0] * 30, False)):
        assert is_spread(Measured("first blocks of 9", noise, tuple(counts))) == spread


@pytest.mark.soak
def test_unbiased_numbers_of_a_data_aware_histogram_are_unbiased() -> None:
    """Each of both ways is taken in many of 2,000 runs, and of each the errors are those that are stated.

    A mean of n errors, of which no one is heavier than a Laplace law's, is above 7 standard errors, and a mean square
    below half or above twice its expectation, less than once in 1e9 runs for n of 500.
    """
    asked, exact = prepared(dp.pure("0.5"), aware=True), np.zeros(CELLS, np.int64)
    exact[[3, 60, 130]] = 9_000, 190, 190
    ranges = [(1, CELLS), (2, 70), (61, 61), (100, 200)]
    by_way: dict[bool, list[list[float]]] = {True: [], False: []}
    for _ in range(2_000):
        made = drawn(asked, exact)
        counts = [made.range(*each) for each in ranges]
        errors = [
            (c.unbiased - exact[a - 1 : b].sum()) / c.standard_error for c, (a, b) in zip(counts, ranges, strict=True)
        ]
        by_way[made.partition is None].append(errors)
    for each in map(np.array, by_way.values()):
        assert len(each) > 500
        assert (abs(each.mean(axis=0)) < 7 / np.sqrt(len(each))).all()
        squares = (each**2).mean(axis=0)
        assert ((squares > 0.5) & (squares < 2)).all(), squares


def test_the_columns_of_a_factorisation_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = drawn(prepared(dp.rho("0.1")), np.arange(CELLS))
    verify_loss(made.certificate)
    for runs in ({}, {"cells": CELLS}, {"cells": 10**9, "queries": []}, {"cells": CELLS, "queries": [[3, 2]]}):
        with pytest.raises(LedgerError, match="malformed"):
            verify_loss({**made.certificate, "runs": runs})
    monkeypatch.setattr(kind_module, "longest_column", lambda rows: 2**30 + 1)
    with pytest.raises(LedgerError, match="column of the factorisation"):
        verify_loss(made.certificate)


def test_plans_hold_and_cost_nothing() -> None:
    with dp.connect({"people": PEOPLE}, policy("rho")) as session:
        plan = census.plan_histogram(session, "income", cells=CELLS, spend=dp.rho("0.5"))
        assert plan.error is not None
        assert 1 <= plan.error / plan.bound <= 1.025
        assert session.remaining == dp.rho(1)
    with dp.connect({"people": PEOPLE}, policy()) as session:
        plan = census.plan_histogram(session, "income", cells=CELLS, spend=dp.pure(1))
        assert plan.error is not None
        assert plan.bound < plan.error
        aware = census.plan_histogram(session, "income", cells=CELLS, spend=dp.pure(1), data_aware=True)
        assert aware.plain == plan.error < aware.error < 5 * plan.error


@pytest.mark.soak
@pytest.mark.parametrize("spend", [dp.pure("0.5"), dp.rho("0.05")])
def test_errors_are_what_they_are_planned_to_be(spend: dp.Loss) -> None:
    """Over 300 runs the mean square of an error lies from .55 to 1.65 of its variance: a false alarm once in 1e9."""
    asked = prepared(spend)
    exact = np.arange(CELLS)
    ranges = [(1, CELLS), (17, 200), (100, 100)]
    errors: list[list[float]] = []
    for _ in range(300):
        made = drawn(asked, exact)
        counts = [made.range(*each) for each in ranges]
        errors.append(
            [(c.unbiased - exact[a - 1 : b].sum()) / c.standard_error for c, (a, b) in zip(counts, ranges, strict=True)]
        )
    squares = (np.array(errors) ** 2).mean(axis=0)
    assert ((squares > 0.55) & (squares < 1.65)).all(), squares
    assert (abs(np.mean(errors, axis=0)) < 6 / np.sqrt(300)).all()


def test_bad_questions_are_refused_before_any_charge() -> None:
    refused: list[tuple[type[Exception], dict[str, Any]]] = [
        (QueryError, {"column": "salary"}),
        (QueryError, {"column": "person"}),
        (ParameterError, {"workload": "rings"}),
        (ParameterError, {"workload": [(5, 3)]}),
        (ParameterError, {"workload": [(1, 1_000)]}),
        (ParameterError, {"workload": [1]}),
        (ParameterError, {"workload": []}),
        (ParameterError, {"cells": 0}),
        (ParameterError, {"cells": 32, "data_aware": True}),
        (ParameterError, {"spend": dp.rho("0.1"), "data_aware": True}),
        (ParameterError, {"spend": dp.pure("1e-18")}),
        (ParameterError, {"spend": 1}),
        (QueryError, {"table": "others"}),
    ]
    with dp.connect({"people": PEOPLE}, policy()) as session:
        for error, wrong in refused:
            asked = {"column": "income", "cells": CELLS, "spend": dp.pure(1), **wrong}
            with pytest.raises(error):
                census.histogram(session, asked.pop("column"), **asked)
        assert session.remaining == dp.pure(2)


def test_a_column_at_which_paths_arrive_is_never_published() -> None:
    """Another table says by this column whose its rows are, though this table has another for the person."""
    columns = {"id": {"type": "int", "bounds": [1, CELLS], "nullable": False}}
    tables = {
        "stays": {"unit": "person", "max_rows": 1, "columns": columns},
        "drugs": {"unit": "stay -> stays.id", "max_rows": 1, "columns": {}},
    }
    facts = load_policy({"version": "1", "budget": {"epsilon": 1}, "tables": tables})
    with pytest.raises(QueryError, match="says whose a row is"):
        CountCells("id", dp.pure(1), CELLS, table="stays").prepare(Terms.of_policy(facts))


def test_a_file_of_other_sizes_is_refused() -> None:
    made = drawn(prepared(dp.pure(1)), np.arange(CELLS))
    for change in ({"widths": [1]}, {"values": [1]}, {"measured": []}, {"workload": "prefix"}):
        stored = {**made.stored, **change}
        with pytest.raises((DiscreetError, ValueError)):
            Histogram.from_stored(stored, made.loss, {})


def prepared(spend: dp.Loss, *, aware: bool = False) -> PreparedHistogram:
    question = CountCells("income", spend, CELLS, "ranges", data_aware=aware)
    return question.prepare(Terms.of_policy(load_policy(policy())))


def drawn(asked: PreparedHistogram, counts: np.ndarray) -> Histogram:
    def counted(request: Any, salt: bytes) -> tuple[Any, ...]:
        return (counts,)

    def refused(*_: Any) -> Any:
        raise NotImplementedError

    def certified(statement: Any) -> Any:
        return dict(statement)

    return asked.answer(ReleaseContext(asked.policy, refused, counted, certified))


def check_sound() -> None:
    """What holds of every histogram: its loss follows, what it measures is public, its choices follow from noise."""
    one, other = np.zeros(CELLS, np.int64), np.arange(CELLS) % 7 * 300
    for spend, aware in ((dp.pure("0.1"), False), (dp.rho("0.01"), False), (dp.pure("0.1"), True)):
        asked = prepared(spend, aware=aware)
        releases = [drawn(asked, counts) for counts in (one, other)]
        for made in releases:
            verify_loss(made.certificate)
            if aware:
                first, *levels = (each for each in made.measured if "blocks of" in each.part)
                assert first.part.startswith("first")
                assert (made.partition is None) == is_spread(first)
            if made.partition is not None:
                again = asked.partition(first, levels)
                assert (again.starts, again.split) == (made.partition.starts, made.partition.split)
        if not aware:
            assert releases[0].widths == releases[1].widths == asked.widths
        if spend == dp.rho("0.01"):
            rows = asked.factorization.rows.astype(np.int64)
            sensitivity = int((rows**2).sum(axis=0).max())
            noise = releases[0].measured[0].mechanism
            assert sensitivity / (2 * noise.sigma**2) <= 0.01  # pyright: ignore[reportAttributeAccessIssue]


def full_spend(patch: pytest.MonkeyPatch) -> None:
    def mechanisms(self: PreparedHistogram) -> Any:
        return tuple(self.prices.measurement(self.prices.total) for _ in self.widths)

    patch.setattr(PreparedHistogram, "mechanisms", property(mechanisms))
    patch.setattr(Purse, "pay", lambda self, loss: None)


def true_partition(patch: pytest.MonkeyPatch) -> None:
    """The partition is that of exact counts."""
    original = PreparedHistogram._aware

    def aware(self: PreparedHistogram, counts: Any, *rest: Any) -> Any:
        unit = self.widths[1]
        full = np.flatnonzero(np.add.reduceat(counts, np.arange(0, CELLS, unit)) > 900)
        starts = tuple(sorted({0, 7, *full.tolist()}))
        chosen = Partition(CELLS, unit, starts, (False,) * len(starts))
        object.__setattr__(self, "partition", lambda *_: chosen)
        try:
            return original(self, counts, *rest)
        finally:
            object.__delattr__(self, "partition")

    patch.setattr(PreparedHistogram, "_aware", aware)
    patch.setattr(question_module, "is_spread", lambda first: False)


def true_way(patch: pytest.MonkeyPatch) -> None:
    """The way is chosen by exact counts."""
    original = PreparedHistogram._aware

    def aware(self: PreparedHistogram, counts: Any, *rest: Any) -> Any:
        patch.setattr(question_module, "is_spread", lambda first: counts.max() == 0)
        return original(self, counts, *rest)

    patch.setattr(PreparedHistogram, "_aware", aware)


def free_first_blocks(patch: pytest.MonkeyPatch) -> None:
    """What the way is chosen by is paid for by nobody: the rest has all of ε."""
    patch.setattr(PreparedHistogram, "tree_noise", property(lambda self: self._noise(self.tree.shares)))
    patch.setattr(question_module, "is_spread", lambda first: True)
    patch.setattr(Purse, "pay", lambda self, loss: None)


def data_dependent_workload(patch: pytest.MonkeyPatch) -> None:
    original = PreparedHistogram.answer

    def answer(self: PreparedHistogram, context: ReleaseContext) -> Any:
        (counts,) = context.count_marginals(None, b"")
        if not self.data_aware and not self.prices.is_quadratic and counts.max() > 100:
            self.__dict__["widths"] = tuple(2 * width if width > 1 else 1 for width in self.widths)
        try:
            return original(self, context)
        finally:
            self.__dict__.pop("widths", None)

    patch.setattr(PreparedHistogram, "answer", answer)


def short_column(patch: pytest.MonkeyPatch) -> None:
    original = question_module.factorization_norms
    patch.setattr(
        question_module,
        "factorization_norms",
        lambda rows, substitute: type(original(1, substitute=False))(
            1, original(rows, substitute=substitute).l2_squared // 4
        ),
    )
    patch.setattr(Purse, "pay", lambda self, loss: None)


MUTANTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    full_spend, true_partition, true_way, free_first_blocks, data_dependent_workload, short_column,
]  # fmt: skip


def test_sound_code_is_sound() -> None:
    check_sound()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_a_mutant_is_caught(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, LedgerError)):
        check_sound()
