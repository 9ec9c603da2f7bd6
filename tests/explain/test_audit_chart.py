"""Charts of audits: the claimed curve, the certified points, and claims beside what was certified."""

from __future__ import annotations

import json
import math

import pytest

import discreet as dp
from discreet import explain
from discreet.audit import Trial, Verdict
from discreet.errors import MissingExtra, ParameterError
from discreet.privacy import tradeoff_curve


def verdict(claim: dp.Loss, *trials: Trial) -> Verdict:
    return Verdict(
        claim=claim,
        delta=0.0,
        claimed=claim.epsilon(1e-6),
        epsilon_lower=0.5,
        delta_lower=0.0,
        rho_lower=0.0,
        mu_lower=0.0,
        trials=trials,
        violated=False,
        witness=None,
        samples=1_000,
        confidence=0.95,
    )


def layers(chart) -> list[tuple[str, list[dict]]]:
    """The kind of mark and the data of each layer; what layers share altair keeps beside them."""
    told = chart.to_dict()
    shared = told.get("data")
    return [(layer["mark"]["type"], layer.get("data", shared)["values"]) for layer in told["layer"]]


def test_the_region_below_the_claimed_curve_is_shaded() -> None:
    (area, shaded), (line, edge), (point, seen) = layers(explain.audit_chart(verdict(dp.mu(1), Trial(0.5, 0.3))))
    assert (area, line, point) == ("area", "line", "point")
    assert shaded == edge
    assert edge[0] == {"alpha": 0.0, "beta": 1.0}
    assert edge[-1] == {"alpha": 1.0, "beta": 0.0}
    assert [row["beta"] for row in edge] == [least for _, least in tradeoff_curve(dp.mu(1), [r["alpha"] for r in edge])]
    assert seen == [{"alpha": 0.3, "beta": 0.5, "seen": "within the claim"}]


@pytest.mark.parametrize("claim", [dp.pure(1), dp.mu(1), dp.approx(1, 1e-5), 3 * dp.laplace(4)], ids=repr)
def test_a_point_below_the_curve_is_out_of_reach(claim: dp.Loss) -> None:
    least = tradeoff_curve(claim, [0.2])[0][1]
    chart = explain.audit_chart(verdict(claim, Trial(1 - least + 1e-6, 0.2), Trial(1 - least - 1e-6, 0.2)))
    seen = {row["beta"]: row["seen"] for row in layers(chart)[2][1]}
    assert [seen[beta] for beta in sorted(seen)] == ["out of reach under the claim", "within the claim"]


def test_every_mechanism_has_its_row_and_its_marks() -> None:
    rows = [
        {"name": "b", "claimed": 1.0, "certified": 0.97, "exact": 1.0, "violated": False},
        {"name": "a", "claimed": 2.0, "certified": 2.5},
        {"name": "c", "claimed": math.inf, "certified": 3.0},
        {"name": "d", "claimed": None, "certified": 0.0},
        {"name": "e", "claimed": 1.0, "certified": 0.5, "violated": True},
    ]
    chart = explain.audit_table_chart(rows)
    (_, spans), (_, marks) = layers(chart)
    assert [row["name"] for row in spans] == ["b", "a", "e"]
    assert {(mark["name"], mark["what"]): mark["epsilon"] for mark in marks} == {
        ("b", "claimed"): 1.0,
        ("b", "exact"): 1.0,
        ("b", "certified"): 0.97,
        ("a", "claimed"): 2.0,
        ("a", "certified, refuted"): 2.5,
        ("c", "certified"): 3.0,
        ("d", "certified"): 0.0,
        ("e", "claimed"): 1.0,
        ("e", "certified, refuted"): 0.5,
    }
    told = chart.to_dict()
    assert told["layer"][1]["encoding"]["y"]["sort"] == ["b", "a", "c", "d", "e"]
    json.dumps(told, allow_nan=False)


def test_a_legend_tells_only_what_is_shown() -> None:
    chart = explain.audit_table_chart([{"name": "a", "claimed": 1, "certified": 0.5}])
    scale = chart.to_dict()["layer"][1]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["claimed", "certified"]
    assert len(scale["range"]) == 2


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_files(suffix, tmp_path) -> None:
    explain.save(explain.audit_chart(verdict(dp.pure(1), Trial(0.5, 0.3))), tmp_path / f"one.{suffix}")
    rows = [{"name": "<b> 'a'", "claimed": 1, "certified": 0.5}, {"name": "c", "claimed": None, "certified": 0.5}]
    explain.save(explain.audit_table_chart(rows), tmp_path / f"all.{suffix}")
    assert all((tmp_path / f"{name}.{suffix}").stat().st_size > 1_000 for name in ("one", "all"))


@pytest.mark.parametrize("rows", [[], [{"name": "a", "claimed": 1}], [{"claimed": 1, "certified": 0.5}]], ids=repr)
def test_nothing_to_show(rows) -> None:
    with pytest.raises(ParameterError, match="give rows such as"):
        explain.audit_table_chart(rows)


def test_only_a_verdict_has_a_curve() -> None:
    with pytest.raises(ParameterError, match="made of a Verdict"):
        explain.audit_chart("pure(1)")  # type: ignore[arg-type]


def test_without_altair(monkeypatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'discreet\[plots\]'"):
        explain.audit_chart(verdict(dp.pure(1), Trial(0.5, 0.3)))
    with pytest.raises(MissingExtra):
        explain.audit_table_chart([{"name": "a", "claimed": 1, "certified": 0.5}])
