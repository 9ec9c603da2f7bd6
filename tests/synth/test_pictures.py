"""What is drawn of a synthetic table is what its report has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet import synth
from discreet.charts import load_altair
from discreet.datasets import rand
from discreet.errors import MissingExtra, ParameterError, QueryError
from discreet.explain import save


@pytest.fixture(scope="module")
def table() -> synth.SyntheticTable:
    with dp.connect({"visits": rand.table}, rand.policy) as session:
        return synth.fit(session, "visits", dp.pure(1))


def test_marginals_are_drawn_with_their_intervals(table: synth.SyntheticTable) -> None:
    spec = table.to_vega_lite(level=0.9)
    by_name = {panel["title"]["text"]: panel["data"]["values"] for panel in spec["concat"]}
    assert list(by_name) == [column.name for column in table.columns]
    half = table.measured[0].mechanism.error(0.9)
    for i, column in enumerate(table.columns):
        rows = by_name[column.name]
        assert [row["cell"].casefold() for row in rows] == [column.text(j).casefold() for j in range(column.size)]
        assert [row["value"] for row in rows] == list(table.measured[i].counts)
        assert {row["high"] - row["value"] for row in rows} == {half}
        assert sum(row["model"] for row in rows) == pytest.approx(table.total)
    assert "90 % intervals, cost epsilon 1" in " ".join(spec["title"]["subtitle"])
    only = table.to_vega_lite(columns=["DOLLARS", "age"])
    assert [panel["title"]["text"] for panel in only["concat"]] == ["dollars", "age"]


def test_errors_are_drawn_the_largest_first(table: synth.SyntheticTable) -> None:
    rows = table.to_vega_lite("errors")["data"]["values"]
    expected = sorted(((each.distance, each.noise_distance) for each in table.report().marginals), reverse=True)
    assert [(row["distance"], row["noise"]) for row in rows] == expected


def test_the_budget_is_drawn_by_round(table: synth.SyntheticTable) -> None:
    rows = table.to_vega_lite("budget")["data"]["values"]
    stages = table.report().stages()
    assert list(dict.fromkeys(row["stage"] for row in rows)) == list(stages)
    for stage, share in stages.items():
        assert sum(row["share"] for row in rows if row["stage"] == stage) == pytest.approx(share)
    chosen = sum(step.share for step in table.report().steps if step.candidates is not None)
    assert sum(row["share"] for row in rows if row["on"] == "choosing") == pytest.approx(chosen)


@pytest.mark.parametrize("what", ["marginals", "errors", "budget"])
def test_it_is_written(table: synth.SyntheticTable, what: Any, tmp_path: Path) -> None:
    save(table.plot(what), tmp_path / "fit.svg")
    assert (tmp_path / "fit.svg").read_text().startswith("<svg")


def test_what_cannot_be_drawn_is_refused(table: synth.SyntheticTable, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="a picture is of"):
        table.plot("pairs")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ParameterError, match="level"):
        table.plot(level=1)
    with pytest.raises(QueryError, match="price"):
        table.plot(columns=["price"])
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    with pytest.raises(MissingExtra):
        load_altair()
    with pytest.raises(MissingExtra):
        table.plot()
    table.to_vega_lite()
