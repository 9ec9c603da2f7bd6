"""`discreet plan` and `discreet budget` spend nothing and make nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

AVG = "SELECT region, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY region"


def test_a_plan_needs_a_policy_alone(cli: Any) -> None:
    before = sorted(Path().iterdir())
    done = cli("plan", AVG, "--policy", "visits.toml")
    assert done.code == 0
    assert "L1 sensitivity" in done.out
    assert "--epsilon" in done.out
    assert sorted(Path().iterdir()) == before


def test_a_plan_takes_what_a_query_takes_and_makes_no_ledger(cli: Any) -> None:
    words = ["--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "new.ledger", "--epsilon", "0.5"]
    done = cli("plan", AVG, *words, "--level", "0.9")
    assert done.code == 0
    assert "n: ± " in done.out
    assert "error, 90 %" in done.out and "key, public: 2 values" in done.out and "average of cost" in done.out
    assert "Cost: epsilon 0.5" in done.out
    assert "there is none at new.ledger yet" in done.out
    assert not Path("new.ledger").exists()


def test_a_plan_checks_the_source(cli: Any) -> None:
    done = cli("plan", AVG, "--data", "nowhere.parquet", "--policy", "visits.toml")
    assert done.code == 4


def test_a_plan_says_whether_it_fits(cli: Any) -> None:
    ledger = ["--policy", "visits.toml", "--ledger", "visits.ledger"]
    assert cli.ask(AVG, "--epsilon", "2").code == 0
    stored = Path("visits.ledger").read_bytes()
    assert "asking is free" in cli("plan", AVG, *ledger, "--epsilon", "2").out
    assert "this fits" in cli("plan", AVG, *ledger, "--epsilon", "1").out
    assert "this does not fit" in cli("plan", AVG, *ledger, "--epsilon", "1.5").out
    assert "epsilon 1, delta 0.001 is left" in cli("plan", AVG, *ledger).out
    assert Path("visits.ledger").read_bytes() == stored


def test_a_plan_as_json_and_csv(cli: Any) -> None:
    words = ["plan", AVG, "--policy", "visits.toml"]
    bare = cli(*words, "--format", "json").json
    assert bare == {"errors": {"n": None, "c": None}, "loss": None}
    priced = cli(*words, "--epsilon", "0.5", "--format", "json").json
    assert priced["errors"]["n"] > 0
    assert priced["errors"]["c"] is None
    assert priced["loss"] == {"kind": "pure", "epsilon": "1/2"}
    assumed = cli(*words, "--epsilon", "0.5", "--assume-rows", "400", "--format", "json").json
    assert 0 < assumed["errors"]["c"] <= 50
    lines = cli(*words, "--epsilon", "0.5", "--format", "csv").out.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["column", "n", "c"]


def test_assumed_rows_are_a_whole_number(cli: Any) -> None:
    for rows in ("0", "-5", "many", "1e3", str(10**400)):
        assert cli("plan", AVG, "--policy", "visits.toml", "--epsilon", "1", "--assume-rows", rows).code == 2


def test_the_budget_of_a_ledger(cli: Any) -> None:
    assert cli.ask(AVG, "--epsilon", "0.5").code == 0
    done = cli("budget", "--ledger", "visits.ledger", "--format", "json")
    assert json.loads(done.out) == {
        "currency": "approx",
        "budget": {"kind": "approx", "epsilon": "3", "delta": "1/1000"},
        "spent": {"kind": "approx", "epsilon": "1/2", "delta": "0"},
        "remaining": {"kind": "approx", "epsilon": "5/2", "delta": "1/1000"},
        "releases": 1,
        "unanswered": 0,
    }
    table = cli("budget", "--ledger", "visits.ledger")
    assert table.code == 0
    for word in ("epsilon and delta", "epsilon 3, delta 0.001", "epsilon 2.5, delta 0.001", "releases"):
        assert word in table.out
    assert "unanswered" not in table.out


def test_a_charge_without_an_answer_is_told(cli: Any) -> None:
    from discreet.ledger import open_ledger
    from discreet.privacy import approx

    with open_ledger("visits.ledger", approx(3, "1e-3")) as ledger:
        ledger.reserve("a-plan", approx(1, "1e-4"))
    done = cli("budget", "--ledger", "visits.ledger")
    assert "unanswered   1 (charged, then cut short" in done.out
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["unanswered"] == 1
