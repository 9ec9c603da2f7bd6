"""Preparations: what a row becomes is its own affair, and what is bought is near what rows are like."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import test_algorithms
from learners import AGE, CLASS, SITE, measurer, some_examples, taken

import discreet as dp
from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs
from discreet.learn.algorithms import (
    ALGORITHMS,
    DecisionTreeAlgorithm,
    LogisticAlgorithm,
    NaiveBayesAlgorithm,
    PcaAlgorithm,
    SearchAlgorithm,
    algorithm_from_json,
)
from discreet.learn.preparing import (
    BinnerAlgorithm,
    ChainAlgorithm,
    ColumnsAlgorithm,
    Element,
    EncoderAlgorithm,
    ImputerAlgorithm,
    PipelineAlgorithm,
    Preparation,
    ScalerAlgorithm,
)
from discreet.learn.preparing import _distribution as distribution

HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)
MIXED = (
    Element("ages", ChainAlgorithm(), FIFTH, ("age",)),
    Element("sites", EncoderAlgorithm(2), FIFTH, ("site",)),
    Element("both", BinnerAlgorithm(4), HALF, (1, 0)),
    Element("same", None, columns=("site", "age")),
)
BOUGHT: dict[str, Any] = {
    "scaled from 0": ScalerAlgorithm("deviations", -1, "5/2", centred=False),
    "filled with means": ImputerAlgorithm("mean", add_indicator=True),
    "filled with the most frequent": ImputerAlgorithm("most_frequent", add_indicator=True),
    "rare values merged": EncoderAlgorithm(2, one_hot=False),
    "columns": ColumnsAlgorithm(MIXED, keeps_rest=False),
    "columns and the rest": ColumnsAlgorithm(MIXED[:1], dropped=(1,)),
    "a chain of columns": ChainAlgorithm(
        (Element("columns", ColumnsAlgorithm(MIXED), HALF), Element("bin", BinnerAlgorithm(3), HALF))
    ),
}
FREE: dict[str, Any] = {
    "scaled by bounds": ScalerAlgorithm("bounds", "0", "1"),
    "filled with the middle": ImputerAlgorithm("middle", add_indicator=True),
    "filled with a constant": ColumnsAlgorithm(
        (
            Element("numbers", ImputerAlgorithm("constant", 3), columns=(0, 1)),
            Element("sites", ImputerAlgorithm("constant", "b"), columns=(2,)),
        )
    ),
    "equal bins": BinnerAlgorithm(7, "uniform"),
    "one-hot": EncoderAlgorithm(None),
    "codes": EncoderAlgorithm(None, one_hot=False),
}
PIPELINES: dict[str, Any] = {
    "a tree of columns": PipelineAlgorithm(
        (Element("columns", ColumnsAlgorithm(MIXED), FIFTH), Element("tree", DecisionTreeAlgorithm()))
    ),
    "a search": PipelineAlgorithm((Element("scale", ScalerAlgorithm(), FIFTH), Element("best", SearchAlgorithm()))),
    "a search among pipelines": SearchAlgorithm.among([PipelineAlgorithm(), NaiveBayesAlgorithm()]),
    "steps": PipelineAlgorithm(
        (
            Element("fill", ImputerAlgorithm("middle")),
            Element("scale", ScalerAlgorithm(), FIFTH),
            Element("encode", EncoderAlgorithm(2), FIFTH),
            Element("model", LogisticAlgorithm()),
        )
    ),
    "components": PipelineAlgorithm((Element("encode", EncoderAlgorithm(None)), Element("pca", PcaAlgorithm()))),
}


@pytest.mark.parametrize("name", [*BOUGHT, *PIPELINES])
def test_a_row_moves_each_sum_by_its_own_integers(name: str) -> None:
    algorithm = {**BOUGHT, **PIPELINES}[name]
    currency = algorithm.allowed()[0]
    with patch.dict(ALGORITHMS, {name: lambda: algorithm}):
        test_algorithms.test_a_row_moves_each_sum_by_its_own_integers_and_within_the_norms(name, currency, 1)


@pytest.mark.parametrize("name", [*BOUGHT, *FREE])
def test_what_a_row_becomes_depends_on_it_alone_and_is_within_what_is_public(name: str) -> None:
    algorithm = {**BOUGHT, **FREE}[name]
    inputs = Inputs((AGE, Input("weight", None, Fraction(1), Fraction(7)), SITE), CLASS)
    rows = some_examples(inputs, random.Random(3), 50)
    algorithm.check(inputs)
    asked = measurer(algorithm, inputs, dp.pure(1))
    parameters = algorithm.fit(rows, asked)
    assert bool(asked.steps) == algorithm.buys(inputs) == (name in BOUGHT) == algorithm.may_buy
    algorithm.check_parameters(inputs, parameters)
    ready, after = algorithm.prepare(rows, parameters), algorithm.prepared(inputs)
    assert ready.inputs == after and after.target == CLASS and (ready.target == rows.target).all()
    assert ready.numbers.shape == (50, len(after.numbers)) and ready.cells.shape == (50, len(after.categories))
    assert ready.numbers.dtype == ready.cells.dtype == np.int32
    assert ((ready.numbers >= MISSING) & (ready.numbers <= LEVELS)).all()
    assert ((ready.cells >= MISSING) & (ready.cells < [each.size for each in after.categories])).all()
    assert len({each.name for each in after.features}) == len(after.features)
    for row in range(50):
        alone = algorithm.prepare(taken(rows, [row]), parameters)
        assert (alone.numbers == ready.numbers[row]).all() and (alone.cells == ready.cells[row]).all()
    data = json.loads(json.dumps(algorithm.to_json()))
    assert algorithm_from_json(data) == algorithm


def test_the_tree_of_counts_is_fitted_as_least_squares_do() -> None:
    """Against numpy's solution of the same 1,364 equations."""
    noisy = np.random.default_rng(1).normal(size=(1, 1364))
    finest = np.eye(1024)
    rows = [finest.reshape(size, -1, 1024).sum(axis=1) for size in (4, 16, 64, 256, 1024)]
    matrix = np.concatenate(rows)
    expected = np.linalg.solve(matrix.T @ matrix, matrix.T @ noisy[0])
    assert np.allclose(distribution._consistent(noisy)[0], expected, atol=1e-9)


def numbers(values: Any, lower: int = 0, upper: int = 120) -> Examples:
    """Rows of one number."""
    inputs = Inputs((Input("x", None, Fraction(lower), Fraction(upper)),))
    levels = inputs.features[0].levels(np.array(values, float))[:, None]
    return Examples(inputs, levels, np.zeros((len(levels), 0), np.int32), np.zeros(len(levels), np.int32))


def bought(algorithm: Preparation, rows: Examples, spend: dp.Loss) -> Any:
    return algorithm.fit(rows, measurer(algorithm, rows.inputs, spend))


def test_means_deviations_medians_and_quantiles_are_near_those_of_the_rows() -> None:
    """20,000 ages around 30 ± 2 between 0 and 120 at ε = 1: errors of a level or so; ten times what is usual."""
    dice = np.random.default_rng(1)
    rows = numbers(np.append(dice.normal(30, 2, 20_000), [np.nan] * 5_000))
    level = 120 / 1024
    scaled = bought(ScalerAlgorithm(), rows, dp.approx(1, "1e-6"))
    assert abs(scaled["means"][0] * level - 30) < 0.1 and abs(scaled["deviations"][0] * level - 2) < 0.2
    filled = bought(ImputerAlgorithm("median"), rows, dp.approx(1, "1e-6"))
    assert abs(filled["levels"][0] * level - 30) < 0.3
    edges = bought(BinnerAlgorithm(4), rows, dp.approx(1, "1e-6"))["edges"][0] * level
    assert np.abs(edges - (28.65, 30, 31.35)).max() < 0.5
    modes = bought(ImputerAlgorithm("most_frequent"), numbers([7.0] * 9_000 + [99.0] * 999), dp.pure(1))
    assert modes["levels"][0] == round(7 / level)


def test_nobody_has_a_uniform_distribution() -> None:
    """Noise alone is taken for no rows with probability 1 − 3e-3 or so; more than 4 of 12 tries fail below 1e-9."""
    fits = [bought(ScalerAlgorithm(), numbers([]), dp.rho(1)) for _ in range(12)]
    empty = [each for each in fits if abs(each["means"][0] - 511.5) < 1]
    assert len(empty) >= 8
    assert all(abs(each["deviations"][0] - 1024 / 12**0.5) < 1 for each in empty)


def test_deviations_are_at_least_a_level_and_cut() -> None:
    rows = numbers([30.0] * 5_000 + [60.0])
    parameters = bought(ScalerAlgorithm("deviations", "-2", "2"), rows, dp.pure(5))
    assert parameters["deviations"][0] == 1
    algorithm = ScalerAlgorithm("deviations", "-2", "2")
    shown = algorithm.outputs(rows.inputs, parameters, rows.numbers[-2:], rows.cells[-2:])
    assert abs(shown[0, 0]) < 0.6 and shown[1, 0] == 2


def test_fills_and_indicators() -> None:
    inputs = Inputs((AGE, SITE))
    rows = Examples(inputs, np.array([[MISSING], [7]], np.int32), np.array([[2], [MISSING]], np.int32), np.zeros(2))
    middle = ImputerAlgorithm("middle", add_indicator=True)
    assert middle.outputs(inputs, {}, rows.numbers, rows.cells)[:, [0, 2]].tolist() == [[50, 1], [7 / 1024 * 100, 0]]
    assert [each.name for each in middle.prepared(inputs).features] == ["age", "site", "age is missing"]
    frequent = ImputerAlgorithm("most_frequent")
    parameters = {"levels": np.array([5.0]), "cells": np.array([1.0])}
    ready = frequent.prepare(rows, parameters)
    assert ready.numbers.tolist() == [[5], [7]] and ready.cells.tolist() == [[1], [1]]
    many = replace(rows, numbers=np.full((500, 1), 3, np.int32), cells=np.full((500, 1), 2, np.int32))
    assert bought(frequent, many, dp.pure(9))["cells"][0] < 2  # null is not filled in


def test_encoders() -> None:
    inputs = Inputs((SITE, AGE))
    cells = np.array([[2]] * 300 + [[0]] * 100 + [[MISSING]], np.int32)
    rows = Examples(inputs, np.full((401, 1), 9, np.int32), cells, np.zeros(401))
    merged = EncoderAlgorithm(2)
    parameters = bought(merged, rows, dp.pure(9))
    assert parameters["places"].tolist() == [1, 1, 0]
    assert [each.name for each in merged.prepared(inputs).features] == ["site=most frequent 1", "site=others", "age"]
    shown = merged.outputs(inputs, parameters, rows.numbers[[0, 300, 400]], cells[[0, 300, 400]])
    assert shown[:, :2].tolist() == [[1, 0], [0, 1], [0, 0]]
    plain = EncoderAlgorithm(None)
    assert [each.name for each in plain.prepared(inputs).features] == ["site=a", "site=b", "site=null", "age"]


def test_the_model_of_a_pipeline_has_what_preparations_leave() -> None:
    """A tenth and nine tenths of μ²; and all of it, where there is nothing to buy."""
    for features, shares in (((AGE, SITE), [0.2, 0.8]), ((SITE,), [1.0])):
        inputs = Inputs(features, CLASS)
        scale = ScalerAlgorithm() if AGE in features else EncoderAlgorithm(9)
        algorithm = PipelineAlgorithm((Element("before", scale, FIFTH), Element("model", NaiveBayesAlgorithm())))
        algorithm.check(inputs)
        asked = measurer(algorithm, inputs, dp.rho(1))
        algorithm.fit(some_examples(inputs, random.Random(1), 9), asked)
        paid = [
            float(
                asked.prices.cost(step.mechanism.loss(algorithm.row_norms(inputs, step.name).of_unit(1, "add_remove")))
            )
            for step in asked.steps
        ]
        assert np.allclose(paid, shares, rtol=1e-3) and sum(paid) <= 1


def elements(**algorithms: Any) -> tuple[Element, ...]:
    return tuple(Element(name, each, FIFTH) for name, each in algorithms.items())


def test_what_cannot_be_prepared_is_refused() -> None:
    inputs, tree = Inputs((AGE, SITE), CLASS), DecisionTreeAlgorithm()
    share = Fraction(1)
    wrong: list[Any] = [
        ScalerAlgorithm("ranks"), ScalerAlgorithm("bounds", "1", "1"), ScalerAlgorithm("deviations", "1", "2"),
        ScalerAlgorithm("bounds", "x", "2"), ScalerAlgorithm("bounds", "0", "1e9999999999"),
        ScalerAlgorithm(centred=3), ImputerAlgorithm("knn"), ImputerAlgorithm("constant"),
        ImputerAlgorithm("middle", 3), ImputerAlgorithm("constant", 3), ImputerAlgorithm("constant", "a"),
        BinnerAlgorithm(1), BinnerAlgorithm(8, "kmeans"), EncoderAlgorithm(1), EncoderAlgorithm(one_hot=2),
        ChainAlgorithm(()), ChainAlgorithm(elements(a=tree)), ChainAlgorithm((Element("a", ScalerAlgorithm()),)),
        ChainAlgorithm(elements(**{"a:b": ScalerAlgorithm()})), ChainAlgorithm(elements(a__b=ScalerAlgorithm())),
        ChainAlgorithm(elements(a=ScalerAlgorithm()) * 2), ChainAlgorithm((Element("a", ScalerAlgorithm(), -share),)),
        ChainAlgorithm((Element("a", ScalerAlgorithm(), 2 * share),)),
        ChainAlgorithm((Element("a", None, share, (0,)),)),
        ChainAlgorithm(elements(bin=BinnerAlgorithm(), scale=ScalerAlgorithm())),
        PipelineAlgorithm((Element("scale", ScalerAlgorithm(), share), Element("tree", tree))),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, ("weight",)),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, (7,)),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, (-1,)),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, (0, "age")),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, ()),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), share, ("site",)),)),
        ColumnsAlgorithm((Element("remainder", ScalerAlgorithm(), share, (0,)),)),
        ColumnsAlgorithm((Element("a", tree, share, (0,)),)),
        ColumnsAlgorithm((Element("a", ScalerAlgorithm(), columns=(0,)),)),
        ColumnsAlgorithm(dropped=(9,)),
    ]  # fmt: skip
    for each in wrong:
        with pytest.raises(ParameterError):
            each.check(inputs)
    for steps in ((), elements(a=ScalerAlgorithm()), elements(a=PipelineAlgorithm()), elements(a=None), 7):
        with pytest.raises(ParameterError):
            PipelineAlgorithm(steps)


def test_hostile_json_is_refused_and_takes_no_time() -> None:
    good = ColumnsAlgorithm().to_json()
    for change in (
        {"parts": 7}, {"parts": [7]}, {"keeps_rest": 1}, {"dropped": [1.5]}, {"dropped": [True]}, {"more": 1},
        {"parts": good["parts"] * 101}, {"parts": [{**good["parts"][0], "share": "9" * 10**6}]},
        {"parts": [{**good["parts"][0], "share": 0.5}]}, {"parts": [{**good["parts"][0], "algorithm": {"name": "os"}}]},
        {"parts": [{**good["parts"][0], "columns": "age"}]}, {"parts": [{**good["parts"][0], "more": 1}]},
    ):  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011
            algorithm_from_json({**good, **change})
    # Columns that double in each of 14 steps are too many before the last.
    steps = [Element(f"step {i}", _doubled(2**i)) for i in range(14)]
    with pytest.raises(ParameterError, match="columns, and may have"):
        ChainAlgorithm(tuple(steps)).check(Inputs((AGE,)))
    nested: Any = ChainAlgorithm(tuple(steps[:3]))
    for _ in range(6):
        nested = ChainAlgorithm((Element("inner", nested),))
    for each in (nested, ChainAlgorithm(tuple(Element(str(i), ChainAlgorithm(tuple(steps[:3]))) for i in range(20)))):
        with pytest.raises(ParameterError, match="in all"):
            each.check(Inputs((AGE,)))


def _doubled(columns: int) -> ColumnsAlgorithm:
    places = tuple(range(columns))
    return ColumnsAlgorithm((Element("a", None, columns=places), Element("b", None, columns=places)))
