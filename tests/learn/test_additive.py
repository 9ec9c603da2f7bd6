"""Additive models: the residuals of all records, what is counted, refusals, and that they learn."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from learners import SITE, some_examples

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn._fit import fit_examples
from discreet.learn._inputs import Input, Inputs
from discreet.learn._verify import verify_model_loss
from discreet.learn.algorithms import AdditiveAlgorithm
from discreet.learn.algorithms._bin_pairs import pair_counts
from discreet.learn.algorithms._bins import BinnedRows, Bins
from discreet.learn.algorithms._residuals import GRID, residuals

AGE = Input("age", None, Fraction(0), Fraction(9))


def _all_records(classes: int) -> BinnedRows:
    target = Input("y", tuple(range(classes)), type="int")
    bins = Bins(Inputs((AGE, SITE), target), 3)
    records = np.array(list(itertools.product(range(4), range(4), range(classes))), np.int32)
    return BinnedRows(bins, records[:, :2], records[:, 2])


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_residuals_of_all_records_are_within_the_norms_under_any_terms(classes: int) -> None:
    rows, normal = _all_records(classes), random.Random(6)
    dice = np.array([normal.gauss(0, 1) for _ in range(8 * classes)])
    algorithm, near = AdditiveAlgorithm(3), 0
    norms = algorithm.row_norms(rows.bins.inputs, "residuals")
    for size in (0, 1e-3, 0.3, 1, 4, 30, 1e5, 1e300, np.inf, np.nan):
        with np.errstate(invalid="ignore", over="ignore"):
            terms = dice.reshape(8, classes) * size
        left = residuals(rows, terms, np.linspace(-1, 1, classes))
        assert (left.sum(axis=1) == 0).all() and left.dtype == np.int64
        own = left[np.arange(len(left)), rows.target]
        assert (own >= 0).all() and (own <= GRID).all()
        shown = left[:, 1:] if classes == 2 else left
        for row in shown.astype(object):
            assert 2 * sum(map(abs, row)) <= norms.l1 and 2 * sum(each**2 for each in row) <= norms.l2_squared
            near = max(near, 2 * sum(map(abs, row)))
        if size == 1:
            scores = terms[rows.places[:, 0]] + terms[4 + rows.places[:, 1]] + np.linspace(-1, 1, classes)
            chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            assert np.allclose(left / GRID, np.eye(classes)[rows.target] - chances, atol=0.02)
    assert near > 0.99 * norms.l1


def test_a_record_adds_a_one_to_each_bin_and_pair() -> None:
    rows = _all_records(2)
    norms = AdditiveAlgorithm(3).row_norms(rows.bins.inputs, "pairs")
    for i in range(len(rows.places)):
        counts = pair_counts(rows.some(np.array([i])))
        assert set(counts.tolist()) == {0, 1} and counts.sum() == norms.l1 == norms.l2_squared == 3
    assert len(pair_counts(rows)) == 8 + 16


def test_what_cannot_be_fitted_is_refused_in_words() -> None:
    X, y = [[0.1], [0.9]] * 5, [0, 1] * 5  # noqa: N806
    with pytest.raises(ParameterError, match="random forest or naive Bayes"):
        learn.AdditiveModel(dp.pure(1), bounds=(0, 1), classes=[0, 1]).fit(X, y)
    many = Inputs(
        tuple(Input(f"x{i}", None, Fraction(0), Fraction(1)) for i in range(2_000)), Input("y", (0, 1), type="int")
    )
    with pytest.raises(ParameterError, match="leave inputs out"):
        AdditiveAlgorithm().check(many)
    with pytest.raises(ParameterError, match="bins"):
        AdditiveAlgorithm(1).check(many)


@pytest.mark.parametrize("spend", [dp.rho("0.05"), dp.approx(1, "1e-6")])
def test_terms_are_learnt_and_shown(spend: dp.Loss) -> None:
    """8,000 rows whose class follows one input in nine of ten: far below 1e-9 that fewer than 0.8 are told right."""
    inputs = Inputs((AGE, SITE), Input("y", ("no", "yes"), type="string"))
    dice = random.Random(2)
    rows = some_examples(inputs, dice, 8_000)
    flips = np.array([dice.random() < 0.1 for _ in range(8_000)])
    rows.target[:] = (rows.numbers[:, 0] > 500) ^ flips
    model = fit_examples(rows, AdditiveAlgorithm(), spend)
    outputs = model.algorithm.outputs(inputs, model.parameters, rows.numbers, rows.cells)
    assert ((outputs.argmax(axis=1) == 1) == (rows.numbers[:, 0] > 500)).mean() > 0.9
    assert abs(outputs[:, 1].mean() - rows.target.mean()) < 0.05
    verify_model_loss(model.certificate)


def test_terms_have_a_name_for_each_bin() -> None:
    X, y = [[0.1, 5], [0.9, 5]] * 500, [0, 1] * 500  # noqa: N806
    model = learn.AdditiveModel(dp.approx(5, "1e-6"), bins=4, bounds=[(0, 1), (0, 10)], classes=[0, 1]).fit(X, y)
    terms = model.terms()
    assert terms.num_rows == 2 * 5 * 2
    assert terms["bin"].to_pylist()[::2] == [
        *("0 to 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 to 1", "missing"),
        *("0 to 2.5", "2.5 to 5", "5 to 7.5", "7.5 to 10", "missing"),
    ]
    by_name = {tuple(row.values())[:3]: row["term"] for row in terms.to_pylist()}
    assert by_name["x0", "0.75 to 1", "1"] > 1 > -1 > by_name["x0", "0 to 0.25", "1"]
