"""`discreet suggest`: lines for the policy, JSON, and refusals that cost nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("one_database")

WORDS = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")


def test_it_prints_lines_for_the_policy(cli: Any) -> None:
    done = cli("suggest", "visits", "cost", *WORDS, "--epsilon", "1")
    assert done.code == 0
    assert tomllib.loads(done.out)["tables"]["visits"]["columns"]["cost"]["type"] == "float"
    assert done.out.splitlines()[-1].startswith("# cost epsilon 1; left epsilon 2")


def test_json_has_the_documented_shape(cli: Any) -> None:
    done = cli("suggest", "visits", "city", *WORDS, "--epsilon", "1", "--delta", "1/1000", "--format", "json")
    assert done.code == 0
    assert list(done.json) == [
        "table",
        "column",
        "bounds",
        "keys",
        "max_rows",
        "max_groups",
        "loss",
        "remaining",
        "certificate",
    ]
    assert isinstance(done.json["keys"], list)
    assert done.json["bounds"] is None


def test_what_is_refused_makes_no_ledger(cli: Any) -> None:
    for column, spend in (("nothing", ["--epsilon", "1"]), ("region", ["--epsilon", "1"]), ("cost", [])):
        done = cli("suggest", "visits", column, *WORDS, *spend)
        assert (done.code, done.out) == (2, "")
    assert not Path("visits.ledger").exists()
