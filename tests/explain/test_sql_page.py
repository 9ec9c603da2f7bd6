"""docs/sql.md lists what the planner answers, neither more nor less."""

from __future__ import annotations

from pathlib import Path

from discreet.explain import sql_page
from discreet.query import FUNCTIONS, STATISTICS

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def test_the_page_is_what_the_planner_reads() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert sql_page(page) == page, "run `make figures`"


def test_every_function_and_statistic_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert all(
        any(line.startswith(f"| `{each.signature}".replace("||", "\\|\\|")) for line in rows) for each in FUNCTIONS
    )
    assert all(any(line.startswith(f"| `{name}(") for line in rows) for name in STATISTICS.values())


def test_a_table_that_is_missing_something_is_told_apart() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert sql_page(page.replace("| `ABS(x)` |", "| `ABBS(x)` |")) != page.replace("| `ABS(x)` |", "| `ABBS(x)` |")
