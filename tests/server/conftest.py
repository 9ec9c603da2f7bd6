"""A desk over a small table, with two analysts and an auditor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.privacy import pure
from discreet.server.desk import Caller, Desk, open_desk

POLICY = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 3,
            "columns": {
                "person": {"type": "int"},
                "cost": {"type": "float", "bounds": [0, 100]},
                "region": {"type": "string", "keys": ["north", "south"]},
            },
        }
    },
}
VISITS = pa.table(
    {
        "person": [i // 2 for i in range(600)],
        "cost": [float(i % 100) for i in range(600)],
        "region": [("north", "south")[i % 2] for i in range(600)],
    }
)


@dataclass(frozen=True)
class Team:
    """A desk, and who asks at it; `tokens` are by account."""

    desk: Desk
    ada: Caller
    ben: Caller
    officer: Caller
    tokens: dict[str, str]


def team_of(desk: Desk) -> Team:
    owner = desk.owner()
    tokens = {
        "ada": owner.grant("ada", pure(10)),
        "ben": owner.grant("ben", pure(1)),
        "officer": owner.grant("officer", role="auditor"),
    }
    known = {name: token for name, token in tokens.items() if token is not None}
    ada, ben, officer = (desk.sign_in(name, known[name]) for name in ("ada", "ben", "officer"))
    return Team(desk, ada, ben, officer, known)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """One that shares nothing between accounts."""
    with open_desk({"visits": VISITS}, POLICY, tmp_path / "a.ledger", state=tmp_path / "a.desk") as desk:
        yield team_of(desk)


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[Team]:
    """One with a shelf."""
    with open_desk({"visits": VISITS}, POLICY, tmp_path / "b.ledger", state=tmp_path / "b.desk", shelf=True) as desk:
        yield team_of(desk)
