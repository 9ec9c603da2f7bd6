"""Charts of a model against its measurements: what is drawn, how much of it, and that Vega-Lite takes it."""

from __future__ import annotations

import json
from typing import Any

import altair
import pytest
import vl_convert

from discreet.charts import Distance, Histogram, Share, distance_chart, histogram_chart, share_chart


def drawn(spec: dict[str, Any]) -> str:
    """The chart as SVG, by way of altair, which checks it against the schema of Vega-Lite."""
    return vl_convert.vegalite_to_svg(altair.Chart.from_dict(json.loads(json.dumps(spec, allow_nan=False))).to_dict())


def histogram(cells: int = 3, name: str = "age") -> Histogram:
    counts = [float(i * i % 97 - 5) for i in range(cells)]
    return Histogram(name, [f"cell {i}" for i in range(cells)], counts, 4, [max(each, 0) for each in counts])


def test_a_histogram_has_bars_intervals_and_the_model() -> None:
    spec = histogram_chart([histogram()], "Marginals", ["95 %"])
    (panel,) = spec["concat"]
    assert [layer["mark"]["type"] for layer in panel["layer"]] == ["bar", "errorbar", "point"]
    assert panel["data"]["values"][2] == {
        "cell": "cell 2", "value": -1.0, "low": -5.0, "high": 3.0, "model": 0, "shown": "-1 ± 4", "modelled": "0",
    }  # fmt: skip
    assert spec["title"]["subtitle"][0].startswith("bars: measured") and "95 %" in " ".join(spec["title"]["subtitle"])
    assert "cell 2" in drawn(spec)


def test_the_largest_cells_and_the_first_columns_are_drawn() -> None:
    spec = histogram_chart([histogram(90), *(histogram(name=f"c{i}") for i in range(20))], "Marginals")
    assert len(spec["concat"]) == 12 and "12 of 21 columns" in " ".join(spec["title"]["subtitle"])
    first = spec["concat"][0]
    assert first["title"]["text"] == "age, 60 largest of 90 cells"
    values = [row["value"] for row in first["data"]["values"]]
    assert sorted(values) == sorted(histogram(90).measured)[-60:]
    places = [int(row["cell"].removeprefix("cell ")) for row in first["data"]["values"]]
    assert places == sorted(places)
    drawn(spec)


def test_texts_are_short_printable_and_different() -> None:
    texts = ["x" * 200 + "end", "x" * 201 + "end", "</script>\x1b[2J", ""]
    spec = histogram_chart([Histogram("<!--\n", texts, [1, 2, 3, 4], 1, [1, 2, 3, 4])], "T</script>")
    labels = [row["cell"] for row in spec["concat"][0]["data"]["values"]]
    assert len(set(labels)) == 4 and all(len(each) < 40 for each in labels)
    assert "</script>" not in json.dumps(spec) and "<!--" not in json.dumps(spec)
    drawn(spec)


def test_distances_stand_beside_noise() -> None:
    spec = distance_chart([Distance("a × b", 0.3, 0.1, True), Distance("a", 0.01, 0.02, False)], "Error")
    assert spec["data"]["values"] == [
        {"marginal": "a × b", "distance": 0.3, "noise": 0.1, "out": True},
        {"marginal": "a", "distance": 0.01, "noise": 0.02, "out": False},
    ]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["bar", "tick"]
    svg = drawn(spec)
    assert svg.count("#f58518") == 1
    many = distance_chart([Distance(f"m{i}", 0.1, 0.1, False) for i in range(50)], "Error")
    assert len(many["data"]["values"]) == 40 and "first 40 of 50 marginals" in many["title"]["subtitle"][-1]
    drawn(many)


def test_shares_are_stacked_in_order() -> None:
    spec = share_chart([Share("columns", 0.2, 0), Share("round 1", 0.7, 0.1)], "Budget")
    assert [(row["stage"], row["on"], row["share"]) for row in spec["data"]["values"]] == [
        ("columns", "measuring", 0.2), ("columns", "choosing", 0),
        ("round 1", "measuring", 0.7), ("round 1", "choosing", 0.1),
    ]  # fmt: skip
    assert "round 1" in drawn(spec)
    many = share_chart([Share(f"round {i}", 0.01, 0.001) for i in range(90)], "Budget")
    assert many["data"]["values"][0]["stage"] == "round 30" and "last 60 of 90" in many["title"]["subtitle"][0]
    drawn(many)


@pytest.mark.parametrize("chart", [histogram_chart, distance_chart, share_chart])
def test_nothing_to_draw_is_still_a_chart(chart: Any) -> None:
    drawn(chart([], "Nothing"))
