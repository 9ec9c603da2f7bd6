"""Messages of the command line speak its options, whoever wrote them for Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.cli._errors import in_options

HOUSE = Path(discreet.__file__).parent
ROOMS = ("engines", "ledger", "policy", "privacy", "query", "release", "session.py")
PYTHON = re.compile(r"\bdp\.|\bassume=|\bspend=|\bkey=|\bplan\(")
FOR_PYTHON_ALONE = (
    "the error of",  # of Plan.spend_for
    "errors need a spend",
    "assume takes",
    "nonadaptive takes",  # other languages of losses
    "an advanced filter",
    "the steps of a sequential run",
    "token=False",
    "Ibis cannot read a private table",
)


def texts(path: Path) -> list[str]:
    """The texts in a module, with X for what is filled in; docstrings, types and calls left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=values):
                found.append("".join(str(v.value) if isinstance(v, ast.Constant) else "X" for v in values))
            case ast.Constant(value=str() as text) if id(node) not in parts | documents:
                found.append(text)
    return found


def test_every_message_can_be_said_in_options() -> None:
    paths = [path for path in HOUSE.rglob("*.py") if path.relative_to(HOUSE).parts[0] in ROOMS]
    said = {text for path in paths for text in texts(path) if PYTHON.search(text)}
    assert len(said) > 15
    left = {text for text in said if PYTHON.search(in_options(text)) and not text.startswith(FOR_PYTHON_ALONE)}
    assert left == set()


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ("see the noise: plan(query, spend=dp.pure(0.5)).", "see the noise: --epsilon 0.5."),
        ("spend dp.mu(m), dp.gaussian(noise), dp.pure(epsilon)", "spend --mu M, --epsilon E"),
        ('plan with assume={"rows": n}', "plan with --assume-rows N   "),
        ("its key (key=…, or --key-file FILE on the command line) to", "its key (--key-file FILE) to"),
        ("write for example dp.pure(3), dp.approx(3, 1e-6) or dp.rho(0.5)",
         "write for example --epsilon 3, --epsilon 3 --delta 1e-6 or --rho 0.5"),
    ],
)  # fmt: skip
def test_python_becomes_options(python: str, options: str) -> None:
    assert in_options(python) == options


def test_a_ledger_that_needs_a_budget_says_where_it_comes_from(cli: Any) -> None:
    policy = Path("visits.toml")
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("[budget]\nepsilon = 3\ndelta = 1e-3\n", ""), encoding="utf-8")
    done = cli.ask("SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.1")
    assert done.code == 4
    assert "`discreet ledger create visits.ledger --epsilon E` makes one" in done.err


def test_a_plan_speaks_options_and_leaves_the_query_alone(cli: Any) -> None:
    sql = "SELECT AVG(cost) AS c FROM visits WHERE free = 'dp.pure(1)'"
    shown = cli("plan", sql, "--policy", "visits.toml", "--epsilon", "0.5").out
    assert any("'dp.pure(1)'" in line for line in shown.splitlines() if line.startswith("SELECT"))
    assert "c: depends on the data; plan with --assume-rows N" in shown
