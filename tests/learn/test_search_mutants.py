"""Mistakes in searches: the real code with one of them patched in, what it truly costs, and what sees it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from learners import some_examples, taken
from scipy.stats import binomtest

import discreet as dp
from discreet.errors import DiscreetError, LedgerError
from discreet.learn import _fit
from discreet.learn._inputs import Input, Inputs
from discreet.learn._steps import Measurer
from discreet.learn.algorithms import NaiveBayesAlgorithm, SearchAlgorithm, _search
from discreet.learn.selection import Tries, prices_of_try
from discreet.prices import Prices
from discreet.release import verify_loss
from discreet.sensitivity import Norms

INPUTS = Inputs((Input("x", None, Fraction(0), Fraction(8)),), Input("y", ("no", "yes"), type="string"))
SPEND = dp.pure(2)
CANDIDATES = [NaiveBayesAlgorithm(2), NaiveBayesAlgorithm(3), NaiveBayesAlgorithm(8)]
LAW = Tries.of_mean(Fraction(0), 8)
SEARCH = SearchAlgorithm.among(CANDIDATES, LAW)
ALL = SearchAlgorithm.among(CANDIDATES)


def rows(count: int) -> Any:
    import random

    return some_examples(INPUTS, random.Random(1), count)


# What sees a mistake.


def check_certificate() -> None:
    """What is stated of the best try is all that ran in it, and the best of all is within the spend."""
    for search in (ALL, *(SEARCH for _ in range(20))):
        certificate = dict(_fit.fit_examples(rows(30), search, SPEND).certificate)
        verify_loss(certificate)
        names = [each.get("measured", each.get("chosen")) for each in certificate["steps"]]
        places = [name.partition(":")[0] for name in names[:-1]]
        assert names[-1] == "right"
        assert len(set(places)) == (1 if search is SEARCH else len(CANDIDATES)) == len(places)


def check_number() -> None:
    """How many tries there are has the law that is stated, however many rows there are: to 1e-9 each."""
    for examples in (rows(2), taken(rows(40), range(40))):
        counts = [_tries_of(examples) for _ in range(300)]
        for few in (1, 4, 12):
            expected = sum(LAW.weights[:few]) / sum(LAW.weights)
            assert binomtest(sum(each <= few for each in counts), 300, expected).pvalue > 1e-9


def _tries_of(examples: Any) -> int:
    """In how many tries a search asks for a fit; what is fitted does not matter, and takes time."""
    tried: list[int] = []

    def counted(self: Any, data: Any, measurer: Any, place: int) -> Any:
        tried.append(place)
        return {"score": np.zeros(1)}

    with patch.object(SearchAlgorithm, "_try", counted):
        prices, law = SEARCH.budget(SPEND)
        SEARCH.fit(examples, Measurer(prices, 1, "add_remove", partial(SEARCH.row_norms, INPUTS), tries=law))
    return len(tried)


def check_progress() -> None:
    """A session is told nothing between the start and the end."""
    seen: list[int] = []

    class Context:
        def step(self, done: int, total: int) -> None:
            seen.append(done)

    core = _fit._Core(SEARCH, INPUTS, SPEND, 1, "add_remove")
    core.fitted(rows(30), Context(), dict, {})  # type: ignore[arg-type]
    assert not seen


CHECKS = [check_certificate, check_number, check_progress]

# What a mistake truly costs.


def best_of(rate: Callable[[Any], Any], one: np.ndarray) -> np.ndarray:
    return np.diff(rate(np.concatenate([[0.0], np.cumsum(one)])))


def _law(x: Any) -> Any:
    return np.polynomial.polynomial.polyval(x, np.array([0, *LAW.weights], float) / sum(LAW.weights))


def worst(rate: Callable[[Any], Any], epsilon: float) -> float:
    """The largest loss of the best of some tries, of pure `epsilon` each, on pairs of laws of three results."""
    losses = []
    for top in np.geomspace(1e-3, 0.3, 40):
        rare = 1e-6
        other = np.array([1 - top * math.exp(epsilon) - rare, rare, top * math.exp(epsilon)])
        one = np.array([1 - top - rare * math.exp(epsilon), rare * math.exp(epsilon), top])
        if other[0] > 0:
            losses += [np.abs(np.log(best_of(rate, one) / best_of(rate, other))).max()]
    return float(max(losses))


def one_try() -> float:
    return float(prices_of_try(SPEND, LAW).total)


def tries_unpaid() -> float:
    return worst(_law, float(SPEND.epsilon()))


def always_eight() -> float:
    return worst(lambda x: x**8, one_try())


def infinite() -> float:
    return math.inf


def all_shown() -> float:
    """As many tries as there are at most, one after another."""
    return LAW.most * one_try()


def parts_unpaid() -> float:
    return 3 * 2 * 0.9


# Mistakes.

_draw_tries, _try, _show, _fitted = Measurer.draw_tries, SearchAlgorithm._try, Measurer.show, _fit._Core.fitted


def _whole_spend(spend: Any, tries: Any) -> Any:
    return Prices.of_spend(spend, Norms(1, 1))


def _as_many_as_rows(self: Any, examples: Any, measurer: Any) -> Any:
    with patch.object(Tries, "draw", lambda law: max(examples.rows // 2, 1)):
        return _fit_tries(self, examples, measurer)


_fit_tries = SearchAlgorithm._fit_tries


def _exact_scores(self: Any, examples: Any, measurer: Any, place: int) -> Any:
    fitted = self.algorithms[place].fit(examples, _search._Part(measurer, place, Fraction(9, 10)))
    exact = self._scores(examples, [(place, fitted)]).astype(float)
    return {"chosen": np.array([float(place)]), "score": exact, **fitted}


def _all_steps(self: Any, examples: Any, measurer: Any) -> Any:
    tried: list[Any] = []
    real = measurer.one_try
    measurer.one_try = lambda: tried.append(real()) or tried[-1]
    parameters = _fit_tries(self, examples, measurer)
    measurer.steps = [step for each in tried for step in each.steps]
    return parameters


def _with_progress(self: Any, examples: Any, context: Any, certify: Any, statement: Any) -> Any:
    with patch.object(_fit, "check_cancelled", lambda: context and context.step(1, 100)):
        return _fitted(self, examples, context, certify, statement)


def _free_parts(self: Any, examples: Any, measurer: Any) -> Any:
    """Each candidate has nine tenths of the spend, of a purse of its own."""
    fitted = []
    for i, each in enumerate(self.algorithms):
        own = replace(measurer, steps=[])
        fitted.append(each.fit(examples, _search._Part(own, i, Fraction(9, 10))))
        measurer.steps += own.steps
    chosen = measurer.choose("right", self._scores(examples, list(enumerate(fitted))), Fraction(1, 10))
    return {"chosen": np.array([float(chosen)]), **fitted[chosen]}


@dataclass(frozen=True)
class Mutant:
    """The real code with one mistake in it: what is patched, what sees it, and what it costs, of which 2 is claimed."""

    name: str
    changes: tuple[tuple[Any, str, Any], ...]
    check: Callable[[], None]
    epsilon: Callable[[], float]

    @contextmanager
    def broken(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, value in self.changes:
                stack.enter_context(patch.object(owner, name, value))
            yield


MUTANTS = (
    Mutant(
        "the loss of one try for the best of all",
        ((_search, "prices_of_try", _whole_spend),),
        check_certificate,
        tries_unpaid,
    ),
    Mutant("always eight tries", ((Tries, "draw", lambda self: 8),), check_number, always_eight),
    Mutant("as many tries as rows", ((SearchAlgorithm, "_fit_tries", _as_many_as_rows),), check_number, infinite),
    Mutant("a score that is not paid", ((SearchAlgorithm, "_try", _exact_scores),), check_certificate, infinite),
    Mutant("the steps of all tries", ((SearchAlgorithm, "_fit_tries", _all_steps),), check_certificate, all_shown),
    Mutant("progress of tries", ((_fit._Core, "fitted", _with_progress),), check_progress, all_shown),
    Mutant(
        "each candidate for the whole spend",
        ((SearchAlgorithm, "_fit_all", _free_parts),),
        check_certificate,
        parts_unpaid,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_seen(mutant: Mutant) -> None:
    with mutant.broken(), pytest.raises((AssertionError, DiscreetError)):
        mutant.check()


@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_the_sound_code_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_costs_more_than_is_claimed(mutant: Mutant) -> None:
    assert mutant.epsilon() > 2


def test_the_sound_search_costs_no_more_and_every_check_sees_a_mutant() -> None:
    assert one_try() < worst(_law, one_try()) <= 2
    assert {each.check for each in MUTANTS} == set(CHECKS)
    bare = Measurer(Prices.of_spend(SPEND, Norms(1, 1)), 1, "add_remove", partial(SEARCH.row_norms, INPUTS))
    with pytest.raises(LedgerError, match="one fit is paid"):
        SEARCH.fit(rows(3), bare)
