"""What anybody sees of the desk is the same on neighbouring databases, but for noisy values, times and signatures.

The two databases differ in one person, whose rows are the strangest that there are: nulls, NaN, infinities, texts that
are no numbers. Every question is asked of both, at the same moment of their ledgers.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pytest

from discreet.server.desk import Desk, open_desk
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 4,
            "columns": {
                "person": {"type": "int"},
                "cost": {"type": "float", "bounds": [0, 100]},
                "age": {"type": "int", "bounds": [0, 120]},
                "region": {"type": "string", "keys": ["north", "south", "west"]},
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-03-31"]},
                "note": {"type": "string"},
            },
        }
    },
}
STRANGE: list[tuple[Any, ...]] = [
    (-1, float("nan"), None, None, None, "x"),
    (-1, float("inf"), 2**62, "", "0001-01-01", ""),
    (-1, -1e308, -(2**62), "elsewhere", "9999-12-31", "1e400"),
    (-1, 0.0, 0, "north", "2024-02-29", "\x00é" * 50),
]
"""Of a person who is in one database alone."""


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    import datetime as dt

    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[4] = [None if day is None else dt.date.fromisoformat(day) for day in columns[4]]
    types = [pa.int64(), pa.float64(), pa.int64(), pa.string(), pa.date32(), pa.string()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(POLICY["tables"]["visits"]["columns"], arrays, strict=True)))


ROWS: list[tuple[Any, ...]] = [
    (i // 3, float(i % 90), 20 + i % 60, ("north", "south", "west")[i % 3], f"2024-0{1 + i % 3}-15", str(i))
    for i in range(300)
]

NUMBERS = (
    *("cost", "age", "cost / age", "cost / (age - 20)", "SQRT(cost - 50)", "LN(cost)", "EXP(cost * 20)", "age % 7"),
    *("CAST(note AS INTEGER)", "TRY_CAST(note AS DOUBLE)", "LENGTH(note)", "1 / cost", "CAST(age AS SMALLINT)"),
    *("age * age * age", "CASE WHEN region = 'north' THEN cost ELSE 0 END", "POWER(age, 40)", "ABS(cost - age)"),
)
AGGREGATES = (
    *("COUNT(*)", "COUNT({x})", "SUM({x})", "AVG({x})", "MEDIAN({x})", "STDDEV({x})", "COUNT(DISTINCT person)"),
    *("SUM({x}) / COUNT(*)", "MIN({x})", "MAX({x})", "QUANTILE_CONT({x}, 0.9)", "1 / (COUNT(*) - 100)"),
)
KEYS = ("region", "EXTRACT(MONTH FROM day)", "age // 30", "region, age // 60", "note", "day", "cost", "LENGTH(note)")
FILTERS = (
    *("cost > 50", "1 / age > 0", "CAST(note AS INTEGER) > 3", "region = 'elsewhere'", "note LIKE 'x%'", "age IS NULL"),
    *("day < DATE '2024-02-01'", "person = -1", "cost = cost", "age BETWEEN 30 AND 40", "note = '\\x00'"),
)


def question(chance: random.Random) -> dict[str, Any]:
    """A body for the API: mostly good, sometimes not."""
    aggregate = chance.choice(AGGREGATES).format(x=chance.choice(NUMBERS))
    where = f" WHERE {chance.choice(FILTERS)}" if chance.random() < 0.5 else ""
    keys = chance.choice(KEYS) if chance.random() < 0.5 else None
    selected = f"SELECT {aggregate} AS a" if keys is None else f"SELECT {keys}, {aggregate} AS a"
    group = "" if keys is None else f" GROUP BY {keys}"
    more = chance.choice(("", "", "", " ORDER BY a", " LIMIT 1", " HAVING COUNT(*) > 10", " ORDER BY a LIMIT 2"))
    spend = {"epsilon": str(chance.choice((1, "0.5", "0.01", 1000)))}
    body: dict[str, Any] = {"query": f"{selected} FROM visits{where}{group}{more}", "spend": spend}
    if chance.random() < 0.8:
        body["max_price"] = spend if chance.random() < 0.9 else {"epsilon": "1e-3"}
    if chance.random() < 0.1:
        body["bias"] = True
    return body


class Watched:
    """One database behind the API."""

    def __init__(self, rows: list[tuple[Any, ...]], home: Path) -> None:
        self.desk: Desk = open_desk({"visits": table(rows)}, POLICY, home / "ledger", state=home / "desk")
        cap = json.loads(json.dumps(POLICY["budget"]["epsilon"]))
        from discreet.privacy import pure

        token = self.desk.owner().grant("ada", pure(cap))
        app = create_app({"shop": self.desk}, ApiOptions(account_burst=1e6, address_burst=1e6))
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://desk", auth=("ada", str(token)))

    async def seen(self, path: str, body: dict[str, Any], key: str) -> Any:
        response = await self.client.post(f"/v1{path}", json=body, headers={"Idempotency-Key": key})
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        return response.status_code, headers, public(response.json())


def public(content: dict[str, Any]) -> Any:
    """What of an answer or a problem may not hang on the data: all but noisy values and what is signed over them."""
    if "answers" in content:
        picked = "LIMIT" in content["words"] or "HAVING" in content["words"]  # by noisy values: there may be no row
        named = [None if picked else sorted(each["errors"]) for each in content["answers"]]
        answers = [(each["id"], each["loss"]) for each in content["answers"]]
        return {**content, "answers": answers, "errors": named}
    if "certificate" not in content:
        return content
    certificate = content["certificate"]
    signed = {"answer", "error_bars", "signature", "ledger", "position", "at", "bias"}
    private_keys = any(level.get("threshold") is not None for level in certificate.get("levels", []))
    picked = "LIMIT" in certificate["query"] or "HAVING" in certificate["query"] or private_keys
    return {
        "columns": content["columns"],
        "rows": None if picked else len(content["rows"]),
        "keys": None if picked else sorted(repr(list(map(type, row))[:-1]) for row in content["rows"]),
        "loss": content["loss"],
        "certificate": {name: value for name, value in certificate.items() if name not in signed},
    }


@pytest.fixture
def neighbours(tmp_path: Path) -> Iterator[tuple[Watched, Watched]]:
    homes = [tmp_path / name for name in ("with", "without")]
    for home in homes:
        home.mkdir()
    pair = Watched([*ROWS, *STRANGE], homes[0]), Watched(ROWS, homes[1])
    yield pair
    for each in pair:
        each.desk.close()


def hunt(pair: tuple[Watched, Watched], count: int, seed: int) -> dict[int, int]:
    """Ask both the same; how often each status came."""
    chance, statuses = random.Random(seed), dict[int, int]()

    async def ask() -> None:
        for place in range(count):
            body, path = question(chance), chance.choice(("/answers", "/answers", "/plans"))
            if path == "/plans":
                body.pop("max_price", None)
            one, other = [await each.seen(path, body, f"k{place}") for each in pair]
            assert one == other, body
            statuses[one[0]] = statuses.get(one[0], 0) + 1

    asyncio.run(ask())
    logs = [[(line.act, line.account, line.data) for line in each.desk.log.entries(count=10**6)] for each in pair]
    assert logs[0] == logs[1]
    return statuses


def test_neighbours_look_alike(neighbours: tuple[Watched, Watched]) -> None:
    statuses = hunt(neighbours, 60, seed=31)
    assert statuses.keys() == {200, 402, 422}
    assert statuses[200] > 15


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_look_alike_at_length(neighbours: tuple[Watched, Watched], seed: int) -> None:
    assert hunt(neighbours, 500, seed)[200] > 100
