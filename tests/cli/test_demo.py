"""`discreet demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("one_database")


def test_the_demo_tells_its_story(cli: Any) -> None:
    done = cli("demo")
    assert done.code == 0
    for words in ("5,912 people", "only because these data are public", "truth, clamped", "It got the same numbers",
                  "BudgetExceeded", "Left: epsilon 2, delta 1e-06"):  # fmt: skip
        assert words in done.out
    assert "bug" not in done.out


def test_its_files_can_be_kept_and_gone_on_with(cli: Any) -> None:
    assert cli("demo", "--keep", "rand").code == 0
    assert sorted(path.name for path in Path("rand").iterdir()) == ["visits.csv", "visits.ledger", "visits.toml"]
    assert cli("budget", "--ledger", "rand/visits.ledger", "--format", "json").json["spent"]["epsilon"] == "1"
    again = cli("demo", "--keep", "rand")
    assert again.code == 2
    assert "not empty" in again.err
