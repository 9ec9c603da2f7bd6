"""`discreet query --output` and `--plot`: what the files hold, and that what can fail fails before the charge."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dp

pytestmark = pytest.mark.usefixtures("one_database")

COUNT = "SELECT region, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY region"
LONG = "SELECT age, region, COUNT(*) AS n FROM visits GROUP BY age, region"


@pytest.fixture
def many_keys(cli: Any) -> None:
    """In the directory of `cli` the ages are public keys: 120 rows for two regions."""
    policy = Path("visits.toml").read_text()
    keys = ", ".join(map(str, range(60)))
    Path("visits.toml").write_text(policy.replace("bounds = [0, 120] }", f"bounds = [0, 120], keys = [{keys}] }}"))


def test_files_hold_the_answer_with_its_intervals(cli: Any) -> None:
    asked = cli.ask(COUNT, "--epsilon", "0.5", "--level", "0.9", "--format", "json", "--save", "a.release")
    values, errors = asked.json["rows"], asked.json["errors"]
    for name in ("a.csv", "a.parquet", "a.json"):
        again = cli.ask(COUNT, "--epsilon", "0.5", "--level", "0.9", "--format", "json", "--output", name)
        assert again.code == 0 and again.json == asked.json  # what is printed stays as it is
    header = ["region", "n", "n_low", "n_high", "c", "c_low", "c_high"]
    wanted = [
        [region, n, n - errors["n"][i], n + errors["n"][i], c, c - errors["c"][i], c + errors["c"][i]]
        for i, (region, n, c) in enumerate(values)
    ]
    table = pq.read_table("a.parquet")
    assert table.column_names == header and [list(row.values()) for row in table.to_pylist()] == wanted
    assert table.equals(dp.Release.load("a.release").to_arrow(errors=True, level=0.9))
    with Path("a.csv").open(encoding="utf-8", newline="") as file:
        first, *rows = csv.reader(file)
    assert first == header and [[row[0], *map(float, row[1:])] for row in rows] == wanted
    assert json.loads(Path("a.json").read_text()) == asked.json
    assert cli("verify", "a.json").code == 0


def test_what_is_not_known_is_an_empty_field(cli: Any) -> None:
    query = "SELECT MEDIAN(age) AS m, SUM(cost) / 0 AS x FROM visits"
    assert cli.ask(query, "--epsilon", "1", "--output", "a.csv").code == 0
    with Path("a.csv").open(encoding="utf-8", newline="") as file:
        header, row = csv.reader(file)
    assert header == ["m", "m_low", "m_high", "x", "x_low", "x_high"]
    assert row[0] and row[1:] == [""] * 5


@pytest.mark.usefixtures("many_keys")
def test_a_long_answer_is_whole_in_a_file_and_cut_in_a_table(cli: Any) -> None:
    done = cli.ask(LONG, "--epsilon", "1")
    assert "first 50 of 120 rows; ± is 95 % of the noise\n" in done.out
    assert "all rows: --output FILE.csv or FILE.parquet, or --format csv; a repeat is free\n" in done.out
    assert sum("±" in line for line in done.out.splitlines()) == 50 + 1
    again = cli.ask(LONG, "--epsilon", "1", "--output", "all.csv")
    assert "first 50 of 120 rows" in again.out and "all rows are in all.csv\n" in again.out
    assert "left epsilon 2" in again.out
    assert len(Path("all.csv").read_text().splitlines()) == 121
    assert len(cli.ask(LONG, "--epsilon", "1", "--format", "csv").out.splitlines()) == 121


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json"])
def test_a_plot_is_written(cli: Any, suffix: str) -> None:
    path = Path(f"a.{suffix}")
    path.write_text("an older picture, which is written over")
    done = cli.ask(COUNT, "--epsilon", "0.5", "--level", "0.9", "--plot", str(path))
    assert done.code == 0 and "north" in done.out
    written = path.read_bytes()
    assert written.startswith(b"\x89PNG") if suffix == "png" else "90 % intervals of the noise" in written.decode()
    if suffix == "json":
        assert json.loads(written)["title"]["text"] == "Number of rows, average of cost by region"


def refused(cli: Any, *arguments: str, query: str = COUNT) -> str:
    """The error of a query that spends nothing, and leaves nothing."""
    before = sorted(Path().rglob("*"))
    done = cli.ask(query, "--epsilon", "0.5", *arguments)
    assert done.code == 2 and done.out == "" and done.err.startswith("error: ")
    assert sorted(Path().rglob("*")) == before and not Path("visits.ledger").exists()
    return str(done.err)


def test_what_cannot_be_written_is_refused_before_the_charge(cli: Any) -> None:
    Path("taken.csv").write_text("mine")
    Path("folder.svg").mkdir()
    Path("dangling.csv").symlink_to("nowhere")
    assert "'taken.csv' is there already" in refused(cli, "--output", "taken.csv")
    assert "is there already" in refused(cli, "--output", "dangling.csv")
    assert Path("taken.csv").read_text() == "mine"
    assert "ends in .parquet, .csv, .json, which says its format; got a.xlsx" in refused(cli, "--output", "a.xlsx")
    assert "ends in .svg, .png, .html, .json, got a.gif" in refused(cli, "--plot", "a.gif")
    assert "no such directory" in refused(cli, "--output", "none/a.csv")
    assert "no directory none" in refused(cli, "--plot", "none/a.svg")
    assert "'folder.svg' cannot be written: Is a directory" in refused(cli, "--plot", "folder.svg")
    assert "name different ones" in refused(cli, "--save", "a.json", "--output", "./a.json")
    long = "a" * 300
    for option in ("--output", "--save", "--plot"):
        assert "cannot be written: File name too long" in refused(cli, option, f"{long}.json")


def test_a_plot_of_nothing_is_refused_before_the_charge(cli: Any) -> None:
    query = "SELECT region FROM visits GROUP BY region HAVING COUNT(*) > 3"
    assert "no number of the answer has noise" in refused(cli, "--plot", "a.svg", query=query)


def test_a_plot_without_its_extra_is_refused_before_the_charge(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    assert "pip install 'discreet[plots]'" in refused(cli, "--plot", "a.svg")
    assert cli.ask(COUNT, "--epsilon", "0.5", "--output", "a.csv").code == 0


def test_a_discovered_key_cannot_steer_a_page(cli: Any) -> None:
    import pyarrow as pa

    table = pq.read_table("visits.parquet")
    hostile = pa.array(["</script><script>alert(1)</script>"] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("free"), "free", hostile), "visits.parquet")
    query = "SELECT free, region, COUNT(*) AS n FROM visits GROUP BY free, region"
    assert cli.ask(query, "--epsilon", "2", "--delta", "1e-3", "--plot", "a.html").code == 0
    page = Path("a.html").read_text(encoding="utf-8")
    assert "script>alert(1)" not in page
    assert page.count("</script>") == page.count("<script")
