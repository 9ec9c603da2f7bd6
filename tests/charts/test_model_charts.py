"""Charts of models: what is drawn, how much of it, in which order, and that Vega-Lite takes it."""

from __future__ import annotations

import json
from typing import Any

import altair
import pytest
import vl_convert

from discreet.charts import Accuracy, Coefficient, Term, accuracy_chart, coefficient_chart, term_chart


def drawn(spec: dict[str, Any]) -> str:
    """The chart as SVG, by way of altair, which checks it against the schema of Vega-Lite."""
    return vl_convert.vegalite_to_svg(altair.Chart.from_dict(json.loads(json.dumps(spec, allow_nan=False))).to_dict())


def term(name: str = "age", bins: int = 3, classes: int = 1, size: float = 1.0) -> Term:
    values = [[size * (i - j) for j in range(classes)] for i in range(bins)]
    return Term(name, [f"bin {i}" for i in range(bins)], [f"class {j}" for j in range(classes)], values)


def test_terms_are_bars_by_bin() -> None:
    spec = term_chart([term()], "Terms", "log-odds", ["cost"])
    (panel,) = spec["concat"]
    assert [(row["bin"], row["term"], row["shown"]) for row in panel["data"]["values"]] == [
        ("bin 0", 0, "+0.000"), ("bin 1", 1, "+1.000"), ("bin 2", 2, "+2.000"),
    ]  # fmt: skip
    assert "color" not in panel["encoding"] or "field" not in panel["encoding"]["color"]
    assert "bin 2" in drawn(spec)


@pytest.mark.parametrize("classes", [2, 5, 30])
def test_several_classes_have_a_colour_each(classes: int) -> None:
    spec = term_chart([term(classes=classes), term("site", classes=classes)], "Terms", "log-odds")
    domain = spec["concat"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain == [f"class {i}" for i in range(min(classes, 10))]
    assert len(spec["concat"][0]["data"]["values"]) == 3 * min(classes, 10)
    assert (classes > 10) == ("first 10 of 30 classes" in " ".join(spec["title"]["subtitle"]))
    drawn(spec)


def test_inputs_that_reach_farthest_are_drawn_and_the_first_bins() -> None:
    spec = term_chart([*(term(f"c{i}", size=i / 10) for i in range(20)), term("long", 90)], "Terms", "log-odds")
    assert len(spec["concat"]) == 12 and "12 of 21 inputs" in " ".join(spec["title"]["subtitle"])
    assert [panel["title"]["text"] for panel in spec["concat"][:2]] == ["long, first 60 of 90 values", "c19"]
    assert len(spec["concat"][0]["data"]["values"]) == 60
    drawn(spec)


def test_coefficients_are_in_order_of_size() -> None:
    listed = [Coefficient(f"c{i}", name, (-1) ** i * i) for i in range(50) for name in ("a", "b")]
    spec = coefficient_chart(listed, "Model", "log-odds")
    names = list(dict.fromkeys(row["input"] for row in spec["data"]["values"]))
    assert names == [f"c{i}" for i in range(49, 9, -1)] and "40 of 50 inputs" in " ".join(spec["title"]["subtitle"])
    assert spec["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    drawn(spec)
    one = coefficient_chart(listed[::2], "Model", "log-odds")
    assert "field" not in one["encoding"]["color"]
    drawn(one)


def test_accuracy_is_a_line_over_epsilon_with_intervals() -> None:
    points = [Accuracy(3, 0.9, 0.85, 0.95, "public rows"), Accuracy(0.1, 0.6, 0.5, 0.7, "private rows")]
    spec = accuracy_chart(points, "Accuracy of y by ε")
    assert [row["epsilon"] for row in spec["data"]["values"]] == [0.1, 3]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "rule", "point"]
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == [0.1, 3]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["public rows", "private rows"]
    assert spec["data"]["values"][0]["shown"] == "0.6 (0.5 to 0.7)"
    drawn(spec)
    drawn(accuracy_chart([Accuracy(i, 0.5, 0.4, 0.6, "public rows") for i in range(30)], "A"))


def test_texts_are_printable_and_end_no_script() -> None:
    name = "</script>\x1b[2J"
    for spec in (
        term_chart([Term(name, [name, "<!--"], [name, "b"], [[1, 2], [3, 4]])], name, name, [name]),
        coefficient_chart([Coefficient(name, name, 1), Coefficient("b", "<!--", 2)], name, name, [name]),
        accuracy_chart([Accuracy(1, 0.5, 0, 1, name), Accuracy(2, 0.5, 0, 1, "b")], name, [name]),
    ):
        assert (
            "</script>" not in json.dumps(spec) and "\\u001b" not in json.dumps(spec) and "<!--" not in json.dumps(spec)
        )
        drawn(spec)
