"""Budgets over time: what is left goes down, and up again where a window begins."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.errors import MissingExtra
from discreet.explain import burndown_chart, burndown_points, save
from discreet.ledger import open_ledger
from discreet.ledger.state._account import Account
from discreet.privacy import pure


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def states() -> list[tuple[datetime, Account]]:
    with open_ledger(None, pure(1)) as ledger:
        account = ledger.total.renewed(day(1))
    one = account.charged(pure("0.25"), None)
    two = one.charged(pure("0.5"), None)
    later = two.renewed(day(5)).renewed(day(8), pure(2))
    return [(day(1), account), (day(2), one), (day(3), two), (day(9), later), (day(10), later.renewed(day(10)))]


def test_a_window_begins_where_it_began() -> None:
    points = burndown_points({"ada": states()})
    assert [(point["at"][8:10], point["left"], point["begins"]) for point in points] == [
        ("01", 1.0, False),
        ("02", 0.75, False),
        ("03", 0.25, False),
        ("08", 2.0, True),
        ("09", 2.0, False),
        ("10", 2.0, True),
    ]
    assert {point["account"] for point in points} == {"ada"}
    assert burndown_points({"nobody": []}) == []


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_it_is_drawn(tmp_path: Path, suffix: str) -> None:
    chart = burndown_chart(burndown_points({"(whole)": states(), "ada": states()[:2]}), "pure")
    save(chart, tmp_path / f"left.{suffix}")
    text = (tmp_path / f"left.{suffix}").read_text(encoding="utf-8")
    assert "ada" in text
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["title"] == "ε left"


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match="plots"):
        burndown_chart([], "pure")
