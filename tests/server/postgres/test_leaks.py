"""What a session sees is the same on neighbouring databases, but for noisy values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from frontends import SYNC, Wire, bind, describe, execute, fields, parse, query
from fronts import Front, terms, visits

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits WHERE {w}",
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE {w} GROUP BY city",
    "SELECT SUM(1 / cost) FROM visits WHERE {w}",
    "SELECT SUM(stay / (cost - 50)) AS s FROM visits WHERE {w}",
    "SELECT SUM(CAST(note AS INTEGER)) FROM visits WHERE {w}",
    "SELECT SUM(LN(cost)) FROM visits WHERE {w}",
    "SELECT note, COUNT(*) FROM visits WHERE {w} GROUP BY note",
    "SELECT * FROM visits WHERE {w}",
    "SELECT SUM(nothing) FROM visits",
    "SELECT DISTINCT city FROM visits",
    "EXPLAIN SELECT AVG(cost) FROM visits WHERE {w}",
    "SELECT COUNT(*) FROM visits WHERE {w} LIMIT 0",
    "COPY (SELECT COUNT(*) AS n FROM visits WHERE {w}) TO STDOUT",
    "SELECT * FROM discreet.budget",
    "SELECT COUNT(* FROM",
)
CONDITIONS = (
    "cost > {n}",
    "1 / stay > {n}",
    "CAST(note AS INTEGER) > {n}",
    "note LIKE 'x%'",
    "person = {n}",
    "day < DATE '2024-02-0{d}'",
    "city = 'Cork' AND stay <> {n}",
    "cost = cost AND stay < {n}",
    "EXP(cost * {n}) > 0",
)


def with_notes(table: pa.Table) -> pa.Table:
    return table.append_column("note", pa.array([str(i) for i in range(table.num_rows)]))


def strange(table: pa.Table) -> pa.Table:
    """One person more, whose row is the strangest that there is."""
    row = {
        "person": -1,
        "city": "",
        "cost": float("nan"),
        "day": None,
        "stay": -(2**62),
        "insured": None,
        "note": "x\n1e400",
    }
    return pa.concat_tables([table, pa.Table.from_pylist([row], schema=table.schema)])


@pytest.fixture
def neighbours(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Front, Front]]:
    import fronts

    columns = fronts.POLICY["tables"]["visits"]["columns"]
    monkeypatch.setitem(columns, "note", {"type": "string"})
    table = with_notes(visits(300))
    pair = tuple(Front(terms(insecure=True), tables={"visits": each}).start() for each in (table, strange(table)))
    yield pair  # pyright: ignore[reportReturnType]
    for each in pair:
        each.stop()
        assert each.status == []


def public(seen: list[tuple[str, bytes]], *, noisy: bool) -> list[Any]:
    """Everything that was sent, without the values of rows where they are noisy."""
    return [(kind, None if noisy and kind in "Dd" else fields(body) if kind in "EN" else body) for kind, body in seen]


def hunt(neighbours: tuple[Front, Front], count: int, seed: int) -> dict[str, int]:
    """Ask both the same; how often a message of each kind came."""
    draw, kinds = random.Random(seed), dict[str, int]()
    wires = [Wire(each.host, each.port) for each in neighbours]
    for wire, each in zip(wires, neighbours, strict=True):
        wire.sign_in(each.tokens["ada"], user="ada", options="-c discreet.epsilon=0.01")
    for _ in range(count):
        where = draw.choice(CONDITIONS).format(n=draw.randrange(1, 99), d=draw.randrange(1, 9))
        text = draw.choice(QUESTIONS).format(w=where)
        parts = [query(text)]
        if draw.random() < 0.4:
            parts = [parse("", text), bind("", "", [], []), describe("P", ""), execute("", draw.choice([0, 1])), SYNC]
        noisy = text.startswith(("SELECT", "COPY")) and "discreet." not in text and "DISTINCT" not in text
        one, other = (public(wire.ask(*parts), noisy=noisy) for wire in wires)
        assert one == other, text
        for kind in {kind for kind, _ in one}:
            kinds[kind] = kinds.get(kind, 0) + 1
    for wire in wires:
        wire.socket.close()
    return kinds


def test_neighbours_look_alike(neighbours: tuple[Front, Front]) -> None:
    kinds = hunt(neighbours, 80, 31)
    assert kinds["D"] > 15 and kinds["E"] > 10


@pytest.mark.soak
def test_neighbours_look_alike_at_length(neighbours: tuple[Front, Front]) -> None:
    assert hunt(neighbours, 2_000, 32)["D"] > 400
