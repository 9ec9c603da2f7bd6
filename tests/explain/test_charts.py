"""What plots show, and that they can be written."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet import explain
from discreet.errors import MissingExtra, ParameterError
from discreet.mechanisms import DiscreteLaplace, ProposeTestRelease
from discreet.sensitivity import smooth


def rows_of(chart) -> list[dict]:
    """All data of a chart, wherever altair put them."""
    found = []
    stack = [chart.to_dict()]
    while stack:
        match stack.pop():
            case {"values": [*rows]}:
                found.extend(rows)
            case dict() as node:
                stack.extend(node.values())
            case list() as nodes:
                stack.extend(nodes)
    return found


def test_a_loss() -> None:
    data = explain.loss_points(dp.gaussian(2), "1e-6")
    deltas = [row["delta"] for row in data["epsilon"]]
    uppers = [row["upper"] for row in data["epsilon"]]
    assert len(deltas) > 10
    assert min(deltas) < 1e-6 < max(deltas)
    assert deltas == sorted(deltas, reverse=True)
    assert uppers == sorted(uppers)
    assert all(row["lower"] <= row["upper"] for row in data["epsilon"])
    for row in data["tradeoff"]:
        assert 0 <= row["beta"] <= dp.gaussian(2).tradeoff(row["alpha"]) + 1e-9
    assert len(rows_of(explain.loss_chart(data))) == len(data["epsilon"]) + len(data["tradeoff"])


def test_errors_are_answers_less_the_truth() -> None:
    """The mean of 2,000 discrete Laplace draws of scale 2 is within 0.6 with probability 1 − 1e-20."""
    found = explain.errors(DiscreteLaplace(2), 40, 41, draws=2_000)
    assert abs(found.mean() + 1) < 0.6
    refusing = ProposeTestRelease("median", bound="1e-3", bounds=(0, 1), spend=dp.approx(1, 1e-9))
    assert np.isnan(explain.errors(refusing, [0.0, 1.0], 0.5, draws=3)).all()


def test_a_histogram_counts_every_error_it_covers() -> None:
    found = {"a": np.array([-1.0, 0.0, 0.1, 1.0]), "b": np.array([0.0, 0.0, np.nan, 2.0])}
    rows = rows_of(explain.error_histogram(found, bins=7, covered=1.0))
    assert len(rows) == 14
    assert sum(row["share"] for row in rows if row["mechanism"] == "a") == pytest.approx(1)
    assert sum(row["share"] for row in rows if row["mechanism"] == "b, refused 25%") == pytest.approx(0.75)


def test_a_comparison_shows_quantiles() -> None:
    found = {"a": np.arange(1, 101) * 1.0, "b": np.full(10, np.nan), "c": np.zeros(5)}
    rows = rows_of(explain.error_comparison(found))
    assert {row["level"]: row["error"] for row in rows} == {"50%": 51, "90%": 91, "99%": 100}


def test_the_top_of_the_smooth_curve_is_smooth_sensitivity() -> None:
    x = np.linspace(0, 1, 50) ** 3
    points = explain.smooth_points("median", x, 0.1, bounds=(0, 1))
    assert max(each["discounted"] for each in points) == pytest.approx(smooth("median", x, 0.1, bounds=(0, 1)))
    assert points[-1]["k"] == 80
    assert {"k": 0, "value": points[0]["at_distance"]}.items() <= next(
        row for row in rows_of(explain.smooth_curve(points)) if row["k"] == 0
    ).items()


def test_a_recommendation() -> None:
    advice = dp.recommend("median", n=3_000, bounds=(0, 100), spend=dp.pure(1))
    rows = rows_of(explain.recommendation_chart(advice))
    assert [row["mechanism"] for row in rows] == [each.name for each in advice.options if math.isfinite(each.error)]


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json"])
def test_files(suffix, tmp_path) -> None:
    chart = explain.error_histogram({"a": np.array([-1.0, 1.0])})
    explain.save(chart, tmp_path / f"here.{suffix}")
    assert (tmp_path / f"here.{suffix}").stat().st_size > 1000


def test_no_text_of_a_chart_ends_the_script_of_its_page(tmp_path) -> None:
    """A collected word, as a released key, may be anybody's."""
    word = "</script><script>alert(1)</script><!--"
    chart = explain.estimate_chart([{"word": word, "frequency": 0.2, "low": 0.1, "high": 0.3}])
    explain.save(chart, tmp_path / "here.html")
    page = (tmp_path / "here.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<!--" not in page
    assert page.count("</script>") == page.count("<script")
    assert r"\u003c/script>\u003cscript>alert(1)" in page


def test_bad_paths_and_bad_data(tmp_path) -> None:
    chart = explain.error_histogram({"a": np.array([-1.0, 1.0])})
    for path in ("here.pdf", tmp_path / "none" / "here.svg", tmp_path / "here"):
        with pytest.raises(ParameterError):
            explain.save(chart, path)
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(ParameterError, match="cannot be written"):
        explain.save(chart, tmp_path / "taken.svg")
    for nothing in ({}, {"a": np.array([])}):
        with pytest.raises(ParameterError):
            explain.error_histogram(nothing)
        with pytest.raises(ParameterError):
            explain.error_comparison(nothing)
    with pytest.raises(ParameterError):
        explain.smooth_curve([])
    with pytest.raises(ParameterError):
        explain.smooth_points("median", [0.5], 0, bounds=(0, 1))
    with pytest.raises(ParameterError):
        explain.errors(DiscreteLaplace(1), 0, 0, draws=0)


def test_without_altair(monkeypatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'discreet\[plots\]'"):
        explain.error_histogram({"a": np.array([1.0])})
    with pytest.raises(MissingExtra):
        explain.check_path(Path("here.svg"))
