"""docs/sql.md lists what the planner answers, and docs/local.md every scheme, neither more nor less."""

from __future__ import annotations

from pathlib import Path

from discreet.explain import with_tables
from discreet.query import FUNCTIONS, STATISTICS

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def test_the_page_is_what_the_planner_reads() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run `make figures`"


def test_every_scheme_is_on_its_page() -> None:
    page = PAGE.with_name("local.md").read_text(encoding="utf-8")
    assert "<!-- schemes -->" in page
    assert with_tables(page) == page, "run `make figures`"


def test_every_function_and_statistic_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert all(
        any(line.startswith(f"| `{each.signature}".replace("||", "\\|\\|")) for line in rows) for each in FUNCTIONS
    )
    assert all(any(line.startswith(f"| `{name}(") for line in rows) for name in STATISTICS.values())


def test_a_table_that_is_missing_something_is_told_apart() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page.replace("| `ABS(x)` |", "| `ABBS(x)` |")) != page.replace("| `ABS(x)` |", "| `ABBS(x)` |")
