"""`discreet account`: brackets, comparisons, words, and hostile expressions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.privacy import gaussian, mu, pure

RUN = "1000 * gaussian(1.1).sampled(0.01) + pure(0.1)"


def test_epsilon_with_its_bracket_and_its_rivals(cli: Any) -> None:
    done = cli("account", RUN, "--delta", "1e-6", "--format", "json")
    assert done.code == 0
    told = done.json
    loss = 1000 * gaussian(1.1).sampled(0.01) + pure(0.1)
    assert list(told) == ["loss", "relation", "delta", "epsilon", "alternatives", "posterior"]
    assert told["relation"] == "add_remove"
    assert told["delta"] == 1e-6
    assert told["epsilon"] == dict(zip(("lower", "upper"), loss.bounds(delta=1e-6), strict=True))
    assert 0 < told["epsilon"]["lower"] <= told["epsilon"]["upper"]
    assert [(each["name"], each["bound"]) for each in told["alternatives"]] == [
        ("Renyi divergences", True),
        ("Gaussian limit", False),
    ]
    assert all(set(each) == {"name", "epsilon", "bound", "source"} for each in told["alternatives"])
    assert told["posterior"]["prior"] == 0.01
    json.dumps(told, allow_nan=False)


def test_bounds_of_other_theorems_are_above_the_truth(cli: Any) -> None:
    told = cli("account", "100 * pure(0.1)", "--delta", "1e-6", "--format", "json").json
    found = {each["name"]: each["epsilon"] for each in told["alternatives"] if each["bound"]}
    assert set(found) == {"basic composition", "advanced composition", "Renyi divergences"}
    assert all(epsilon >= told["epsilon"]["lower"] for epsilon in found.values())
    by_hand = 100 * 0.1 * math.expm1(0.1) + math.sqrt(2 * math.log(1e6) * 100) * 0.1
    assert found["advanced composition"] == pytest.approx(by_hand, rel=1e-9)
    assert found["basic composition"] == 10


def test_delta_at_an_epsilon(cli: Any) -> None:
    words = ["account", "gaussian(4)", "--delta", "1e-5", "--format", "json"]
    at = cli(*words, "--epsilon", "1").json["at"]
    assert at["epsilon"] == 1
    assert at["fits"] is True
    assert at["delta"]["lower"] <= mu(0.25).delta(1) <= at["delta"]["upper"]
    assert cli(*words, "--epsilon", "0.5").json["at"]["fits"] is False


def test_words_for_people(cli: Any) -> None:
    out = cli("account", RUN, "--delta", "1e-6", "--epsilon", "1").out
    assert "certified: the truth is between" in out
    assert "not a bound" in out
    assert "delta at epsilon 1" in out
    assert "times likelier" in out
    pure_out = cli("account", "pure(0.5)").out
    assert "A belief of 1 % in what is true about one person becomes at most 2.67 %." in pure_out
    assert "too much" in cli("account", "pure(9)+gaussian(0.1)", "--delta", "1e-6").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["__import__('os').system('true')"], "no method called 'system'"),
        (["gaussian(-1)"], "noise must be greater than 0"),
        (["gausian(1)"], "did you mean gaussian"),
        (["gaussian(1)"], "larger --delta"),
        (["gaussian(1)", "--delta", "2"], "delta must be at least 0 and less than 1"),
        (["gaussian(1)", "--delta", "nan"], "--delta must be a finite number"),
        (["gaussian(1)", "--delta", "1e-6", "--epsilon", "-1"], "epsilon must be at least 0"),
        (["gaussian(1)", "--delta", "1e-6", "--epsilon", "1e400"], "epsilon must be at most 1e100"),
        (["gaussian(noise=1, noise=2)", "--delta", "1e-6"], "gaussian(noise=1, noise=2)"),
        (["1000000000000000 * (1000000000000000 * pure(1))", "--delta", "1e-6"], "multiply to at most"),
        (["ｐure(1)"], "ASCII"),
        (["gaussian(1).sampled(0.1) + gaussian(1).sampled(0.1, 'without_replacement')", "--delta", "1e-6"], ""),
        (["gaussian(1)", "--delta", "1e-6", "--plot", "here.gif"], "ends in .svg, .png, .html"),
        (["gaussian(1)", "--delta", "1e-6", "--plot", "nowhere/here.svg"], "no directory nowhere"),
    ],
)
def test_bad_input_is_one_message(cli: Any, arguments: list[str], message: str) -> None:
    done = cli("account", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err


def test_nothing_reveals_nothing(cli: Any) -> None:
    told = cli("account", "0 * gaussian(1)", "--format", "json").json
    assert told["epsilon"] == {"lower": 0, "upper": 0}
    assert told["posterior"]["upper"] == pytest.approx(0.01)


def test_a_loss_without_protection_is_said_to_be_one(cli: Any) -> None:
    out = cli("account", "pure(1000)").out
    assert "Something may be more than 1e299 times likelier" in out
    assert "Nothing" not in out


def test_a_plot_without_its_packages_says_what_to_install(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    done = cli("account", "gaussian(1)", "--delta", "1e-6", "--plot", "here.svg")
    assert done.code == 2
    assert "pip install 'discreet[plots]'" in done.err
    assert not Path("here.svg").exists()


def test_a_plot(cli: Any) -> None:
    assert cli("account", "gaussian(1)", "--delta", "1e-6", "--plot", "here.svg").code == 0
    assert "<svg" in Path("here.svg").read_text()
