"""Randomness comes through one door: nothing else is read, nothing can seed it, and what comes through decides all.

That no module names another generator is in `tests/test_layout.py`; here it is the running program.
"""

from __future__ import annotations

import ast
import hashlib
import os
import random
import secrets
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

pytestmark = pytest.mark.usefixtures("one_database")

HOUSE = Path(dp.__file__).parent
TREES = {path.relative_to(HOUSE).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(HOUSE.rglob("*.py"))}
SEEDS = {"seed", "seeded", "rng", "random_state", "prng"}
SQL_RANDOMNESS = ("random(", "setseed", "uuid(", "tablesample", "using sample")


def names(tree: ast.AST) -> Iterator[str]:
    """What is bound, taken as an argument, or reached as an attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.keyword(arg=str(name)) | ast.Attribute(attr=name) | ast.Name(id=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def test_nothing_takes_or_keeps_a_seed() -> None:
    found = {path: {name.strip("_").lower() for name in names(tree)} & SEEDS for path, tree in TREES.items()}
    assert {path: seeds for path, seeds in found.items() if seeds} == {}


def test_the_search_for_seeds_finds_them() -> None:
    code = "def draw(n, *, seed=None):\n    self._rng = default_rng(random_state=3)"
    assert {name.strip("_") for name in names(ast.parse(code))} >= {"seed", "rng", "random_state"}


def test_the_system_is_asked_in_one_place() -> None:
    asking = [path for path, tree in TREES.items() if {"urandom", "getrandom"} & set(names(tree))]
    assert asking == ["noise/_source.py"]


def test_no_query_to_an_engine_draws_by_itself() -> None:
    texts = [
        (path, node.value.lower())
        for path, tree in TREES.items()
        if path.startswith(("engines/", "query/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert texts
    assert [path for path, text in texts if any(each in text for each in SQL_RANDOMNESS)] == []


POLICY = {
    "version": "1",
    "budget": {"epsilon": 100, "delta": "0.5"},
    "tables": {
        "t": {
            "unit": "u",
            "max_rows": 3,
            "max_groups": 2,
            "columns": {"x": {"type": "float", "bounds": [0, 9]}, "k": {"type": "string"}},
        }
    },
}
TABLE = pa.table({"u": [i // 9 for i in range(900)], "x": [i % 10 for i in range(900)], "k": list("abcde") * 180})
QUERY = "SELECT k, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY k"


def asked() -> object:
    """A session from connect to answer, in which caps bite and keys are discovered."""
    with dp.connect({"t": TABLE}, POLICY) as session:
        return session.sql(QUERY, dp.approx(1, "0.4")).to_arrow().to_pylist()


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("another generator was used")


@cache
def load() -> None:
    """Libraries may do as they like while they are loaded."""
    asked()


@pytest.fixture
def other_generators_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    for module in (random, np.random, secrets):
        for name in module.__all__:
            if callable(getattr(module, name)):
                monkeypatch.setattr(module, name, refuse)
    for name in ("uuid1", "uuid4"):
        monkeypatch.setattr(uuid, name, refuse)
    for name in ("random", "getrandbits", "randbytes"):
        if name in vars(random.Random):
            monkeypatch.setattr(random.Random, name, refuse)


@pytest.mark.usefixtures("other_generators_refuse")
def test_mechanisms_use_no_other_generator(case) -> None:
    assert len(case.draw(case.at(2), case.worlds[0], 5)) == 5


@pytest.mark.usefixtures("other_generators_refuse")
def test_sessions_use_no_other_generator() -> None:
    assert asked() is not None


@pytest.fixture
def known_bits(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the operating system's bytes a function of a number and of how many were asked for since."""

    def start(number: int) -> None:
        calls = count()
        monkeypatch.setattr(
            os, "urandom", lambda size: hashlib.shake_256(f"{number}/{next(calls)}".encode()).digest(size)
        )

    return start


def test_what_comes_through_the_door_decides_every_release(case, known_bits) -> None:
    """With known bytes from the system, releases repeat, whatever other generators do; with other bytes they differ.

    64 releases with as much noise as this agree by chance with probability below 2**−32 (and then once, for good).
    """
    mechanism, drawn = case.at(1000), []
    for number in (7, 7, 8):
        known_bits(number)
        random.seed(len(drawn))
        np.random.seed(len(drawn))
        drawn.append(repr(case.draw(mechanism, case.worlds[0], 64)))
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_comes_through_the_door_decides_every_answer(known_bits) -> None:
    answers = []
    for number in (7, 7, 8):
        known_bits(number)
        answers.append(asked())
    assert answers[0] == answers[1] != answers[2]
