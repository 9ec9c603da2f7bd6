"""Oriented gradients are what their definition says, of one image alone to the last bit, within public bounds."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn import datasets

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn.features import OrientedGradients
from discreet.learn.preparing._features import cut_at, shortened
from discreet.learn.preparing._oriented_gradients import direction_shares

Reals = NDArray[np.float64]


def by_hand(image: Reals, cells: int, directions: int, smooth: int) -> Reals:
    """The features of one image of rows, columns and channels, pixel by pixel, with angles."""
    height, width, channels = image.shape

    def pixel(i: int, j: int) -> Reals:
        return image[min(max(i, 0), height - 1), min(max(j, 0), width - 1)]

    for _ in range(smooth):
        kernel = [(di, dj, (2 - abs(di)) * (2 - abs(dj)) / 16) for di in (-1, 0, 1) for dj in (-1, 0, 1)]
        image = np.array(
            [
                [sum(weight * pixel(i + di, j + dj) for di, dj, weight in kernel) for j in range(width)]
                for i in range(height)
            ]
        )
    down, across = min(cells, height), min(cells, width)
    held, turn = np.zeros((directions, down, across)), 2 * math.pi / directions
    for i in range(height):
        for j in range(width):
            slopes = np.array([(pixel(i, j + 1) - pixel(i, j - 1)) / 2, (pixel(i + 1, j) - pixel(i - 1, j)) / 2])
            right, below = slopes[:, max(range(channels), key=lambda c: (slopes[:, c] ** 2).sum())]
            first = math.floor(math.atan2(below, right) % (2 * math.pi) / turn) % directions
            nearest = (first, (first + 1) % directions)
            units = np.array([[math.cos(turn * k), math.sin(turn * k)] for k in nearest]).T
            shares = np.linalg.solve(units, [right, below])
            for a in range(down):
                for b in range(across):
                    far = (abs((i + 0.5) * down / height - a - 0.5), abs((j + 0.5) * across / width - b - 0.5))
                    weight = max(1 - far[0], 0) * max(1 - far[1], 0)
                    for k, share in zip(nearest, shares, strict=True):
                        held[k, a, b] += weight * max(share, 0)
    roots = np.sqrt(held.ravel())
    cut = min(4 / math.sqrt(roots.size), 1)
    return np.minimum(roots / max(np.linalg.norm(roots), math.sqrt(1e-3 * height * width)), cut)


@pytest.mark.parametrize(
    ("shape", "cells", "directions", "smooth"),
    [((7, 5), 3, 8, 1), ((6, 9, 3), 4, 5, 0), ((1, 11), 4, 6, 2), ((3, 3, 2), 8, 12, 1), ((8, 8), 1, 9, 3)],
)
def test_the_features_are_the_definition_pixel_by_pixel(
    shape: tuple[int, ...], cells: int, directions: int, smooth: int
) -> None:
    images = np.random.default_rng(sum(shape)).uniform(size=(4, *shape))
    fixed = OrientedGradients(shape=shape, cells=cells, directions=directions, smooth=smooth)
    wanted = [by_hand(each.reshape(*shape[:2], -1), cells, directions, smooth) for each in images]
    # Held sums differ by 2^-20 of the image; a root makes at most 2^-10 of that where a cell holds nothing.
    assert np.abs(fixed.transform(images) - wanted).max() < 2e-3
    assert np.abs(fixed.transform(images) ** 2 - np.square(wanted)).max() < 1e-5


@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(5, 64))
def test_the_shares_of_a_slope_add_up_to_it_and_are_two(down: float, right: float, directions: int) -> None:
    shares = np.array([float(each) for each in direction_shares(np.array(down), np.array(right), directions)])
    turns = 2 * math.pi * np.arange(directions) / directions
    assert (shares >= 0).all()
    assert (shares > 1e-4).sum() <= 2
    assert np.cos(turns) @ shares == pytest.approx(right, abs=1e-4)
    assert np.sin(turns) @ shares == pytest.approx(down, abs=1e-4)


ANY_IMAGES = arrays(np.float64, (5, 30), elements=st.floats(width=64))


@given(ANY_IMAGES, st.sampled_from([(0, 1), (-1e300, 1e307), (0, 1e-300)]))
def test_any_numbers_stay_within_the_bounds_and_do_not_reach_other_rows(
    images: Reals, pixels: tuple[float, float]
) -> None:
    fixed = OrientedGradients(shape=(5, 3, 2), pixels=pixels, cells=2)
    rows = fixed.transform(images)
    lower, upper = fixed.bounds
    assert rows.shape == (5, 32)
    assert (rows >= lower).all()
    assert (rows <= upper).all()
    assert ((rows**2).sum(axis=1) <= 1 + 1e-9).all()
    assert (rows == np.concatenate([fixed.transform(each[None]) for each in images])).all()
    assert (rows[::-1] == fixed.transform(images[::-1])).all()


def test_a_row_has_the_same_features_alone_and_among_blocks_of_others() -> None:
    images = np.random.default_rng(0).uniform(size=(1_500, 28 * 28))
    fixed = OrientedGradients(shape=(28, 28))
    rows = fixed.transform(images)
    order = np.random.default_rng(1).permutation(len(images))
    assert (fixed.transform(images[order]) == rows[order]).all()
    for place in (0, 667, 668, 1_499):
        assert (fixed.transform(images[place : place + 1]) == rows[place]).all()


def test_neither_brightness_nor_contrast_nor_gray_channels_matter_and_a_blank_image_has_no_features() -> None:
    image = np.random.default_rng(3).integers(0, 64, size=(1, 12, 10)) / 64
    fixed = OrientedGradients(shape=(12, 10))
    rows = fixed.transform(image)
    assert np.allclose(fixed.transform(image / 4 + 0.5), rows, atol=1e-12)
    assert (OrientedGradients(shape=(12, 10, 3)).transform(np.stack([image] * 3, axis=-1)) == rows).all()
    assert not fixed.transform(np.ones((1, 12, 10))).any()
    assert np.linalg.norm(fixed.transform(np.ones((1, 12, 10)) + image * 1e-6)) < 0.1
    missing = np.where(image == 0, np.nan, image)
    assert (fixed.transform(missing) == rows).all()


def test_what_is_shortened_has_length_one_whatever_its_size() -> None:
    row = np.array([[3.0, -4.0, 0.0]])
    for size in (1e-300, 1.0, 1e300):
        assert np.allclose(shortened(row * size, 1e-310), [[0.6, -0.8, 0]])
    assert cut_at(10_000) == pytest.approx(0.04)
    assert np.abs(shortened(np.array([[5.0] + [0.0] * 99]), 1e-6)).max() == pytest.approx(0.4)


def test_a_raw_fit_on_features_takes_their_bounds_and_states_its_loss() -> None:
    X, y = datasets.load_digits(return_X_y=True)  # noqa: N806
    fixed = OrientedGradients(shape=(8, 8), pixels=(0, 16))
    rows, spend = fixed.transform(X), dp.approx(3, "1e-6")
    model = learn.LogisticRegression(spend, bounds=fixed.bounds, classes=list(range(10))).fit(rows[::2], y[::2])
    assert model.loss == spend
    assert model.score(rows[1::2], y[1::2]) > 0.85


@pytest.mark.parametrize(
    "parameters",
    [
        {"shape": (28,)},
        {"shape": (28, 0)},
        {"shape": "28"},
        {"shape": (2, 3, 1, 1)},
        {"shape": (4, 4), "cells": 0},
        {"shape": (4, 4), "directions": 4},
        {"shape": (4, 4), "smooth": -1},
        {"shape": (4, 4), "pixels": (1, 0)},
        {"shape": (4, 4), "pixels": (0, float("nan"))},
        {"shape": (4, 4), "pixels": 255},
        {"shape": (5, 4)},
    ],
)
def test_parameters_that_are_wrong_say_so(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        OrientedGradients(**parameters).fit_transform(np.zeros((2, 16)))


def test_bounds_follow_from_the_shape_and_the_statement_makes_the_map_again() -> None:
    with pytest.raises(ParameterError, match="shape"):
        _ = OrientedGradients().bounds
    fixed = OrientedGradients(shape=(28, 28), pixels=(0, 255))
    assert fixed.bounds == (0.0, 4 / math.sqrt(128))
    stated = {name: value for name, value in fixed.statement.items() if name not in ("features", "version")}
    images = np.random.default_rng(0).uniform(0, 255, (3, 784))
    assert (OrientedGradients(**stated).transform(images) == fixed.transform(images)).all()


def test_scikit_learn_finds_nothing_wrong() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OrientedGradients(), on_skip=None)
    assert len(results) > 40
