"""`discreet census histogram` and `marginals`: plans without data, publications to a file, what is shown of these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet import census

pytestmark = pytest.mark.usefixtures("one_database")
SOURCES = ("--data", "visits.parquet", "--ledger", "visits.ledger")
POLICY = ("--policy", "visits.toml")


@pytest.mark.parametrize("verb", ["histogram", "marginals", "range"])
def test_help_teaches(cli: Any, verb: str) -> None:
    done = cli("census", verb, "--help")
    assert done.code == 0
    assert f"discreet census {verb}" in done.out


def test_a_histogram_is_planned_published_and_shown(cli: Any) -> None:
    asked = ("census", "histogram", "cost", *POLICY, "--epsilon", "1", "--cells", "64")
    plan = cli(*asked)
    assert plan.code == 0
    assert "no linear strategy is below" in plan.out
    assert "at most 2 rows" in cli(*asked, "--explain", "--plot", "plan.json").out
    assert Path("plan.json").exists()
    assert cli(*asked, "--format", "json").json["cells"] == 65  # zero is one of its own
    assert not Path("visits.ledger").exists()
    assert "belong together" in cli(*asked, "--data", "visits.parquet").err
    done = cli(*asked, *SOURCES, "-o", "cost.json")
    assert done.code == 0
    assert "left; in cost.json" in done.out
    assert "is there already" in cli(*asked, *SOURCES, "-o", "cost.json").err
    assert cli(*asked, *SOURCES, "-o", "again.json").code == 0
    assert Path("again.json").read_bytes() == Path("cost.json").read_bytes()
    made = census.load_histogram("cost.json")
    counted = made.range(0, 25)
    shown = cli("census", "range", "cost.json", "-", "25", "--format", "json").json
    assert (shown["value"], shown["unbiased"]) == (counted.value, counted.unbiased)
    assert f"published {made.range().value:,}" in cli("census", "range", "cost.json", "-", "-").out
    rows = cli("census", "show", "cost.json", "--format", "json", "--plot", "cost.svg").json["rows"]
    assert [row["value"] for row in rows] == list(made.values)
    assert "first 50 of 65" in cli("census", "show", "cost.json").out
    assert cli("verify", "cost.json", "--ledger", "visits.ledger").code == 0


def test_ranges_of_a_file_are_what_a_histogram_is_measured_for(cli: Any) -> None:
    asked = ("census", "histogram", "age", *POLICY, "--rho", "0.1", "--cells", "121", "--ranges", "ranges.csv")
    Path("ranges.csv").write_text("0,17\n18,64\n\n65,120\n")
    assert cli(*asked, "--format", "json").json["queries"] == 3
    for text, words in (("0,17\n18\n", "line 2"), ("0,old\n", "old"), ("9,3\n", "no values from")):
        Path("ranges.csv").write_text(text)
        done = cli(*asked)
        assert done.code != 0
        assert words in done.err
    Path("ranges.csv").unlink()
    assert "cannot be read" in cli(*asked).err


def test_marginals_are_planned_published_and_shown(cli: Any) -> None:
    asked = ("census", "marginals", "visits", *POLICY, "--epsilon", "1", "--delta", "1e-6")
    asked += ("--columns", "region,age", "--cells", "age=4")
    assert "half-width of one cell" in cli(*asked, "--plot", "plan.json").out
    assert "2 columns" in cli(*asked, "--explain").out
    assert not Path("visits.ledger").exists()
    one = cli(*asked, "--marginal", "region", "--format", "json").json
    assert [each["columns"] for each in one["marginals"]] == [["region"]]
    assert "give one of them" in cli(*asked, "--marginal", "region", "--ways", "1").err
    done = cli(*asked, *SOURCES, "-o", "tables.json")
    assert done.code == 0, done.err
    made = census.load_marginals("tables.json")
    shown = cli("census", "show", "tables.json", "--table", "region,age", "--format", "json").json["rows"]
    assert shown == made.table("region", "age").to_pylist()
    assert "standard_error" in cli("census", "show", "tables.json", "--table", "age", "--plot", "ages.json").out
    assert Path("ages.json").exists()
    assert "half-width" in cli("census", "show", "tables.json").out
    assert "holds no histogram" in cli("census", "range", "tables.json", "1", "2").err
    assert cli("verify", "tables.json", "--ledger", "visits.ledger").code == 0


def test_what_is_neither_is_refused(cli: Any) -> None:
    assert cli("census", "histogram", "salary", *POLICY, "--epsilon", "1").code != 0
    assert "--epsilon E" in cli("census", "histogram", "cost", *POLICY).err
    assert "--epsilon E" in cli("census", "marginals", "visits", *POLICY).err
    sql = "SELECT COUNT(*) AS n FROM visits"
    assert cli("query", sql, *SOURCES, *POLICY, "--epsilon", "1", "--save", "n.release").code == 0
    assert "no histogram and no marginals" in cli("census", "show", "n.release").err
    assert "no histogram" in cli("census", "range", "n.release", "1", "2").err
