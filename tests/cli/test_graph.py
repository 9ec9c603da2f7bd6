"""`discreet graph`: a plan for nothing, counts and degrees charged once, and refusals in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

POLICY = """version = "1"
[budget]
epsilon = 200
[tables.ties]
unit = "rows"
[tables.ties.columns]
a = { type = "int", bounds = [0, 9], nullable = false }
b = { type = "int", bounds = [0, 9], nullable = false }
[graphs.ring]
edges = "ties"
ends = ["a", "b"]
protects = "edge"
"""
SOURCES = ("--policy", "ring.toml", "--data", "ring.parquet", "--ledger", "ring.ledger")


@pytest.fixture(autouse=True)
def ring(cli: Any) -> None:  # which moves to a folder of its own
    Path("ring.toml").write_text(POLICY)
    pq.write_table(pa.table({"a": list(range(10)), "b": [*range(1, 10), 0]}), "ring.parquet")


@pytest.mark.parametrize("verb", ["plan", "count", "degrees", "synth", "mixing", "cuts"])
def test_help_teaches(cli: Any, verb: str) -> None:
    done = cli("graph", verb, "--help")
    assert done.code == 0 and f"discreet graph {verb}" in done.out


def test_a_plan_reads_no_data_and_costs_nothing(cli: Any) -> None:
    asked = ("graph", "plan", "ring", "triangles", "--policy", "ring.toml", "--epsilon", "1")
    assert "not public" in cli(*asked).out and "by 8 at most" in cli(*asked).out
    assert "if one edge moves it by 5" in cli(*asked, "--sensitivity", "5").out
    assert cli(*asked, "--format", "json").json["error"] is None
    assert not Path("ring.ledger").exists()


def test_a_count_is_charged_once_saved_and_verified(cli: Any) -> None:
    done = cli("graph", "count", "ring", "edges", *SOURCES, "--epsilon", "60", "-o", "edges.json")
    assert done.code == 0 and "left; in edges.json" in done.out
    again = cli("graph", "count", "ring", "edges", *SOURCES, "--epsilon", "60", "--format", "json").json
    assert (again["value"], again["noisy"]) == (10, [10])
    assert cli("verify", "edges.json", "--ledger", "ring.ledger").code == 0
    degrees = cli("graph", "degrees", "ring", *SOURCES, "--epsilon", "60", "--format", "json", "-o", "degrees.json")
    assert degrees.json["degrees"] == [2] * 10
    assert cli("verify", "degrees.json", "--ledger", "ring.ledger").code == 0
    assert cli("graph", "degrees", "ring", *SOURCES, "--epsilon", "60", "--plot", "degrees.svg").code == 0
    assert Path("degrees.svg").read_text().startswith("<svg")
    assert "is there already" in cli("graph", "degrees", "ring", *SOURCES, "--epsilon", "60", "-o", "degrees.json").err
    assert "80" in cli("budget", "--ledger", "ring.ledger").out


@pytest.mark.parametrize("asked", [("count", "ring", "triangles"), ("degrees", "ring")])
def test_an_engine_counts_the_same_integers_which_are_free_the_second_time(cli: Any, asked: tuple[str, ...]) -> None:
    spend = ("--epsilon", "60", "--format", "json")
    far = cli("graph", *asked, *SOURCES, *spend, "--counted", "engine")
    assert far.code == 0
    near = cli("graph", *asked, *SOURCES, *spend)
    assert near.json == far.json
    assert "140" in cli("budget", "--ledger", "ring.ledger").out


def test_a_plan_says_what_an_engine_cannot_count(cli: Any) -> None:
    plan = ("graph", "plan", "ring")
    public = ("--policy", "ring.toml", "--epsilon", "1", "--counted", "engine")
    assert cli(*plan, "triangles", *public).code == 0
    for statistic in ("4-cycles", "cuts"):
        refused = cli(*plan, statistic, *public)
        assert refused.code != 0 and "memory" in refused.err


def test_refusals_are_one_line_and_cost_nothing(cli: Any) -> None:
    for asked, words in (
        (("count", "ring", "pagerank", *SOURCES, "--epsilon", "1"), "no statistic"),
        (("count", "rings", "edges", *SOURCES, "--epsilon", "1"), "no graph"),
        (("count", "ring", "edges", *SOURCES), "--epsilon E"),
        (("count", "ring", "triangles", *SOURCES, "--mu", "1"), "mu"),
    ):
        done = cli("graph", *asked)
        assert done.code != 0 and words in " ".join(done.err.split())
    assert "200" in cli("budget", "--ledger", "ring.ledger").out


def test_a_synthetic_graph_is_charged_once_saved_and_verified(cli: Any) -> None:
    asked = ("graph", "synth", "ring", *SOURCES, "--epsilon", "60")
    done = cli(*asked, "-o", "ring.json", "--edges", "synthetic.parquet")
    assert done.code == 0 and "not measured" in " ".join(done.out.split()) and "triangles" in done.out
    edges = pq.read_table("synthetic.parquet")
    assert edges.column_names == ["a", "b"] and 8 <= edges.num_rows <= 12
    again = cli(*asked, "--format", "json").json
    assert again["edges"] == [edges["a"].to_pylist(), edges["b"].to_pylist()]
    assert cli("verify", "ring.json", "--ledger", "ring.ledger").code == 0
    assert "is there already" in cli(*asked, "--edges", "synthetic.parquet").err
    assert "140" in cli("budget", "--ledger", "ring.ledger").out


def test_people_are_protected_where_the_policy_says_so(cli: Any) -> None:
    people = POLICY.replace('"rows"', '"ends"').replace('"edge"', '"node"')
    Path("people.toml").write_text(f"{people}max_degree = 4\n")
    planned = cli("graph", "plan", "ring", "2-stars", "--policy", "people.toml", "--epsilon", "1", "--cap", "public")
    assert "a person with all edges" in planned.out and "The cap is public" in planned.out
    sources = ("--policy", "people.toml", "--data", "ring.parquet", "--ledger", "people.ledger", "--epsilon", "60")
    done = cli("graph", "count", "ring", "edges", *sources, "--cap", "public", "--format", "json", "-o", "edges.json")
    assert abs(done.json["value"] - 10) < 3 and done.json["cap"] == 4
    assert cli("verify", "edges.json", "--ledger", "people.ledger").code == 0
    assert "nodes =" in cli("graph", "degrees", "ring", *sources).err
    assert "nodes =" in cli("graph", "count", "ring", "components", *sources).err
    refused = cli("query", "SELECT COUNT(*) AS n FROM ties", *sources)
    assert refused.code != 0 and "two people" in " ".join(refused.err.split())
    assert "140" in cli("budget", "--ledger", "people.ledger").out


def test_a_directed_graph_has_degrees_of_two_directions(cli: Any) -> None:
    Path("ring.toml").write_text(POLICY + "directed = true\n")
    asked = ("graph", "degrees", "ring", *SOURCES, "--epsilon", "60")
    assert "direction" in cli(*asked).err
    degrees = cli(*asked, "--direction", "out", "--format", "json", "-o", "out.json").json
    assert degrees["degrees"] == [1] * 10 and degrees["direction"] == "out"
    assert "out-degrees of ring" in " ".join(cli(*asked, "--direction", "out", "--plot", "out.svg").out.split())
    count = cli("graph", "count", "ring", "reciprocity", *SOURCES, "--epsilon", "60", "-o", "back.json")
    assert "one arc is protected" in " ".join(count.out.split())
    for name in ("out.json", "back.json"):
        assert cli("verify", name, "--ledger", "ring.ledger").code == 0
    refused = cli("graph", "count", "ring", "triangles", *SOURCES, "--epsilon", "1")
    assert refused.code != 0 and "without directed = true" in " ".join(refused.err.split())
    planned = cli("graph", "plan", "ring", "largest in-degree", "--policy", "ring.toml", "--epsilon", "1")
    assert "which one arc moves by 1" in planned.out


PUBLIC = """[tables.people]
public = true
key = "id"
[tables.people.columns]
id = { type = "int" }
half = { type = "string", keys = ["low", "high"] }
[graphs.ring]"""


def test_mixing_and_cuts_are_charged_once_saved_and_verified(cli: Any) -> None:
    Path("ring.toml").write_text(POLICY.replace("[graphs.ring]", PUBLIC))
    asked = ("--policy", "ring.toml", "--epsilon", "1")
    assert "± 3 for each number" in cli("graph", "plan", "ring", "mixing", "--attribute", "half", *asked).out
    assert cli("graph", "plan", "ring", "cuts", *asked, "--format", "json").json["cuts"][-1]["vertices"] == 5
    assert "attribute" in cli("graph", "plan", "ring", "mixing", *asked).err
    pq.write_table(pa.table({"id": list(range(10)), "half": ["low"] * 5 + ["high"] * 5}), "people.parquet")
    sources = ("--policy", "ring.toml", "--data", "ties=ring.parquet", "--data", "people=people.parquet")
    sources = (*sources, "--ledger", "mixed.ledger", "--epsilon", "60")
    mixed = cli("graph", "mixing", "ring", "half", *sources, "--format", "json", "-o", "mixing.json").json
    assert (mixed["noisy"], mixed["sizes"]) == ([4, 2, 0, 4, 0, 0], [5, 5, 0])
    assert mixed["assortativity"] == pytest.approx(0.6)
    assert cli("graph", "mixing", "ring", "half", *sources, "--plot", "mixing.svg").code == 0
    assert "no public attribute" in cli("graph", "mixing", "ring", "whole", *sources).err
    assert "10 vertices" in cli("graph", "cuts", "ring", *sources, "-o", "cuts.json").out
    for name in ("mixing.json", "cuts.json"):
        assert cli("verify", name, "--ledger", "mixed.ledger").code == 0
    assert "80" in cli("budget", "--ledger", "mixed.ledger").out
