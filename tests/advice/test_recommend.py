"""What is recommended, and whether the errors that are told are those that releases have."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as dp
from discreet.advice import _aggregation
from discreet.advice import _aggregation as _selection
from discreet.advice._recommend import samples_of
from discreet.errors import ParameterError
from discreet.mechanisms import Exponential, GlobalSensitivity, PermuteAndFlip
from discreet.sensitivity import Mode, Profile, Slope, statistic

BOUNDS = (0, 100)
SPENDS = [dp.pure(1), dp.approx(1, 1e-6), dp.rho("0.1"), dp.mu("0.5")]
STATISTICS = ["mean", "sum", "count", "variance", "median", "max", "count_distinct", Slope((-2, 2)), Mode(("a", "b"))]


def bounds_of(name):
    return (BOUNDS, BOUNDS) if isinstance(name, Slope) else None if isinstance(name, Mode) else BOUNDS


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "relation"),
    [
        (name, relation)
        for name in STATISTICS
        for relation in ("add_remove", "substitute")
        if (name, relation) != ("count", "substitute")
    ],
)
@pytest.mark.parametrize("spend", SPENDS, ids=str)
def test_every_option_is_ready_and_within_the_spend(spend, name, relation) -> None:
    advice = dp.recommend(name, n=3_000, bounds=bounds_of(name), spend=spend, relation=relation)
    assert [each.error for each in advice.options] == sorted(each.error for each in advice.options)
    assert advice.mechanism is advice.options[0].mechanism and advice.error == advice.options[0].error
    for option in advice.options:
        assert option.mechanism.loss().fits(spend)
        assert getattr(option.mechanism, "relation", relation) == relation
        assert option.error >= 0 and option.basis in {"exact", "computed", "simulated"}
        if "SampleAndAggregate" not in option.name:
            option.mechanism.release(samples_of(statistic(name), 50, bounds_of(name))[0])


def test_a_count_is_public_under_substitution() -> None:
    with pytest.raises(ParameterError, match="it is public"):
        dp.recommend("count", n=10, spend=dp.pure(1), relation="substitute")


@pytest.mark.parametrize(
    "name", ["mean", *(pytest.param(each, marks=pytest.mark.soak) for each in ("median", "sum", "variance"))]
)
def test_errors_are_those_of_releases(name) -> None:
    """Mean squares over 1,500 releases within a half: about 8 standard deviations for Laplace noise."""
    sample = np.linspace(3, 90, 2_000)
    advice = dp.recommend(name, n=2_000, bounds=BOUNDS, spend=dp.approx(2, 1e-4), sample=sample)
    checked = 0
    for option in advice.options:
        if option.name in {"GlobalSensitivity", "SmoothSensitivity (laplace)"}:
            truth = statistic(name).value(sample, BOUNDS)
            squares = [(option.mechanism.release(sample) - truth) ** 2 for _ in range(1_500)]
            assert 0.5 < np.mean(squares) / option.error**2 < 1.5
            checked += 1
    assert checked == 2


def test_the_proposed_bound_is_passed_by_such_data() -> None:
    sample = np.linspace(3, 90, 20_000)
    advice = dp.recommend("median", n=20_000, bounds=BOUNDS, spend=dp.approx(1, 1e-6), sample=sample)
    proposed = next(each.mechanism for each in advice.options if each.name == "ProposeTestRelease")
    assert all(proposed.release(sample) is not None for _ in range(200))


def test_well_known_winners() -> None:
    pair = dp.approx(1, 1e-6)
    assert isinstance(dp.recommend("mean", n=30_000, bounds=BOUNDS, spend=pair).mechanism, GlobalSensitivity)
    assert isinstance(dp.recommend("sum", n=30_000, bounds=BOUNDS, spend=pair).mechanism, GlobalSensitivity)
    median = dp.recommend("median", n=30_000, bounds=BOUNDS, spend=pair)
    assert not isinstance(median.mechanism, GlobalSensitivity)
    assert median.error < 0.01 * next(each.error for each in median.options if each.name == "GlobalSensitivity")
    votes = dp.recommend(Mode(tuple("abcd")), n=60, spend=dp.pure("0.2"))
    assert votes.options[0].name == "MostFrequent (PermuteAndFlip)"
    assert votes.options[0].error < votes.options[1].error


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip], ids=lambda kind: kind.__name__)
def test_laws_of_selection(kind) -> None:
    """Frequencies of 4,000 picks, each within 7 standard deviations of its probability: 1e-9 for five of them."""
    counts = np.array([9.0, 8.0, 8.0, 3.0, 0.0])
    law = _selection.exponential_law if kind is Exponential else _selection.permute_and_flip_law
    expected = law(counts, 0.5)
    assert expected.sum() == pytest.approx(1)
    choice = kind(1, 1)
    seen = np.bincount([choice.release([9, 8, 8, 3, 0]) for _ in range(4_000)], minlength=5) / 4_000
    assert np.all(np.abs(seen - expected) <= 7 * np.sqrt(expected * (1 - expected) / 4_000))


@pytest.mark.parametrize("candidates", [1, 2, 5_000, pytest.param(200_000, marks=pytest.mark.soak)])
def test_the_law_of_permute_and_flip_holds_for_many_candidates(candidates) -> None:
    for counts in (np.zeros(candidates), np.arange(candidates) * 1.0):
        for rate in (1e-6, 0.01, 3.0):
            assert _selection.permute_and_flip_law(counts, rate).sum() == pytest.approx(1, abs=1e-9)


def test_a_sample_replaces_the_made_up_shapes() -> None:
    narrow = dp.recommend("median", n=5_000, bounds=BOUNDS, spend=dp.pure(1), sample=[50.0] * 10)
    wide = dp.recommend("median", n=5_000, bounds=BOUNDS, spend=dp.pure(1), sample=np.linspace(0, 100, 999))
    assert narrow.error < wide.error
    votes = dp.recommend(Mode(("a", "b")), n=100, spend=dp.pure("0.1"), sample=["a"] * 9 + ["b"])
    assert votes.error < dp.recommend(Mode(("a", "b")), n=100, spend=dp.pure("0.1"), sample=["a", "b", "a"]).error
    slopes = dp.recommend(
        Slope((-2, 2)), n=500, bounds=(BOUNDS, BOUNDS), spend=dp.pure(1), sample=([1, 50, 99], [1, 50, 99])
    )
    assert math.isfinite(slopes.error)


def test_tables_in_a_terminal_and_in_a_notebook() -> None:
    advice = dp.recommend("median", n=5_000, bounds=BOUNDS, spend=dp.pure(1))
    for text in (repr(advice), advice._repr_html_()):
        assert "median of 5,000 records at epsilon 1" in text
        assert "GlobalSensitivity" in text and "not ProposeTestRelease: " in text
    assert "infinite" in repr(advice)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"n": True},
        {"n": 2.5},
        {"bounds": (1, 1)},
        {"bounds": None},
        {"relation": "other"},
        {"statistic": "average"},
        {"spend": dp.laplace(1)},
        {"sample": []},
        {"sample": "ages"},
        {"sample": [[1, 2]]},
        {"sample": [1, math.inf]},
        {"sample": [1, math.nan]},
        {"statistic": type(statistic("median"))},
        {"statistic": Mode(("a", "b")), "sample": "a"},
        {"statistic": Mode(("a", "b")), "sample": [["a"]]},
        {"statistic": Slope((-1, 1)), "bounds": (BOUNDS, BOUNDS), "sample": [1, 2]},
        {"statistic": Slope((-1, 1)), "bounds": (BOUNDS, BOUNDS), "sample": 5},
    ],
    ids=str,
)
def test_bad_arguments(wrong) -> None:
    given = {"statistic": "median", "n": 100, "bounds": BOUNDS, "spend": dp.pure(1), **wrong}
    with pytest.raises(ParameterError):
        dp.recommend(given.pop("statistic"), **given)


def test_a_statistic_without_a_profile_gets_what_needs_none() -> None:
    class Bare:
        def value(self, x, bounds):
            return float(len(x))

        def global_sensitivity(self, bounds, relation, n=None):
            return 1.0

        def profile(self, x, bounds, relation):
            raise NotImplementedError

    advice = dp.recommend(Bare(), n=50, spend=dp.approx(1, 1e-6))
    assert isinstance(advice.mechanism, GlobalSensitivity)
    assert all(each.reason for each in advice.left_out)


@pytest.mark.parametrize("most", [-1.0, math.nan])
def test_a_sensitivity_below_zero_is_refused(most) -> None:
    class Wrong:
        def value(self, x, bounds):
            return 0.0

        def global_sensitivity(self, bounds, relation, n=None):
            return most

        def profile(self, x, bounds, relation):
            return Profile(lambda _: 1.0, last=0)

    with pytest.raises(ParameterError, match="0 or more"):
        dp.recommend(Wrong(), n=50, spend=dp.pure(1))


def test_sizes() -> None:
    assert dp.recommend("mean", n=1, bounds=BOUNDS, spend=dp.pure(1)).options
    assert any("too few" in each.reason for each in dp.recommend("mean", n=9, bounds=BOUNDS, spend=dp.pure(1)).left_out)
    huge = dp.recommend("count", n=10**15, spend=dp.pure(1))
    assert huge.error == pytest.approx(math.sqrt(2), rel=0.1)
    assert _aggregation._CHUNKS[0] * _aggregation._FEWEST_IN_CHUNK <= 50
