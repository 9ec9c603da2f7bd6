"""Pictures of estimates: the largest first, with their intervals; and distributions over bins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import local
from discreet.errors import MissingExtra, ParameterError
from discreet.explain import estimate_chart, save


def test_the_largest_are_drawn_with_their_intervals(tmp_path: Path) -> None:
    scheme = local.KaryRandomizedResponse(domain=[f"v{i}" for i in range(60)], epsilon=8)
    found = scheme.server().add(scheme.simulate(["v3"] * 500 + ["v7"] * 200)).estimate()
    chart = estimate_chart(found.to_arrow().to_pylist())
    values = chart.to_dict()["data"]["values"]
    assert [row["value"] for row in values[:2]] == ["v3", "v7"]
    assert len(values) == 50
    assert all(row["low"] <= row["high"] for row in values)
    save(chart, tmp_path / "plot.svg")
    assert "v3" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_a_distribution_is_drawn_over_its_bins(tmp_path: Path) -> None:
    scheme = local.SquareWave(bounds=(0, 10), epsilon=4, bins=5)
    found = scheme.server().add(scheme.simulate(np.full(1000, 5.0))).estimate()
    chart = estimate_chart(found.to_arrow().to_pylist())
    assert [row["low"] for row in chart.to_dict()["data"]["values"]] == [0, 2, 4, 6, 8]
    save(chart, tmp_path / "plot.svg")


@pytest.mark.parametrize("rows", [[], [{}], [{"frequency": 1}], [{"value": 1, "low": 0, "high": 1}]], ids=range(4))
def test_nothing_to_show(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ParameterError, match="give rows"):
        estimate_chart(rows)


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match="plots"):
        estimate_chart([{"value": "bus", "frequency": 0.2, "low": 0.1, "high": 0.3}])
