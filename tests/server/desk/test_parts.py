"""The parts of the desk: made-up rows, locks between processes, the index of answers, buckets, what is remembered."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.connection import connect
from discreet.policy import load_policy
from discreet.privacy import approx, mu, pure, rho
from discreet.server.desk import Ask, Buckets, RecentlyUsed, open_desk
from discreet.server.desk._answer_index import _size
from discreet.server.desk._rehearsal import ROWS, made_up_tables
from discreet.server.desk._single_flight import SingleFlight

SHOP: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 10},
    "tables": {
        "customers": {
            "unit": "id",
            "max_rows": 1,
            "columns": {
                "id": {"type": "int"},
                "born": {"type": "date", "bounds": ["1930-01-01", "2010-12-31"]},
                "city": {"type": "string", "keys": ["Oslo", "Rome"]},
            },
        },
        "orders": {
            "unit": "customer -> customers.id",
            "key": "number",
            "max_rows": 4,
            "columns": {
                "number": {"type": "string"},
                "customer": {"type": "int"},
                "product": {"type": "int", "bounds": [0, 1999]},
                "price": {"type": "decimal", "bounds": [0, 50]},
                "paid": {"type": "bool"},
                "at": {"type": "timestamp", "bounds": ["2024-01-01", "2024-12-31"]},
                "note": {"type": "string"},
            },
        },
        "products": {
            "public": True,
            "key": "id",
            "columns": {"id": {"type": "int"}, "weight": {"type": "float", "bounds": [0, 9]}},
        },
    },
}


def test_made_up_rows_are_as_the_policy_says_and_always_the_same() -> None:
    policy = load_policy(SHOP)
    tables = made_up_tables(policy)
    assert {name: table.num_rows for name, table in tables.items()} == dict.fromkeys(SHOP["tables"], ROWS)
    for name, table in tables.items():
        assert made_up_tables(policy)[name].equals(table)
        for column, declared in policy.tables[name].columns.items():
            values = table[column]
            assert values.null_count == 0
            if declared.keys is not None:
                assert set(values.to_pylist()) == set(declared.keys)
            elif declared.bounds is not None:
                low, high = pc.min(values).as_py(), pc.max(values).as_py()
                assert declared.bounds[0] <= low < high <= declared.bounds[1]
    assert pc.count_distinct(tables["orders"]["number"]).as_py() == ROWS
    assert pc.all(pc.is_in(tables["orders"]["customer"], tables["customers"]["id"])).as_py()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT city, AVG(price) AS p FROM orders JOIN customers ON orders.customer = customers.id GROUP BY city",
        "SELECT EXTRACT(MONTH FROM at) AS m, SUM(price) AS s FROM orders WHERE paid GROUP BY m",
        "SELECT AVG(weight) AS w FROM orders JOIN products ON orders.product = products.id",
        "SELECT MEDIAN(price) AS m FROM orders",
    ],
)
def test_whatever_a_policy_allows_can_be_rehearsed(query: str) -> None:
    with open_desk(made_up_tables(load_policy(SHOP)), SHOP, None) as desk:
        ada = desk.sign_in("ada", desk.owner().grant("ada", rho(1)))
        assert desk.rehearse(ada, Ask(query, rho("0.5"))).table.shown_rows > 0


HOLD = """
import sys, time
from pathlib import Path
from discreet.server.desk._single_flight import SingleFlight
with SingleFlight(Path(sys.argv[1])).only("plan"):
    print("in", time.monotonic(), flush=True)
    time.sleep(float(sys.argv[2]))
    print("out", time.monotonic(), flush=True)
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True)


def test_one_process_at_a_time_has_a_name(tmp_path: Path) -> None:
    processes = [hold(tmp_path / "lock", 0.2) for _ in range(3)]
    lines = [line.split() for each in processes for line in each.communicate(timeout=60)[0].splitlines()]
    assert [act for act, _ in sorted(lines, key=lambda line: float(line[1]))] == ["in", "out"] * 3


def test_a_name_is_free_again_when_its_process_is_killed(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", 600) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    with SingleFlight(tmp_path / "lock").only("plan"):
        pass


def test_the_index_is_made_anew_from_the_ledger_of_others(tmp_path: Path) -> None:
    table = pa.table({"person": list(range(50)), "cost": [1.0] * 50})
    policy = {
        "version": "1",
        "budget": {"epsilon": 9},
        "tables": {
            "t": {
                "unit": "person",
                "max_rows": 1,
                "columns": {"person": {"type": "int"}, "cost": {"type": "float", "bounds": [0, 9]}},
            }
        },
    }
    query = "SELECT SUM(cost) AS s FROM t"
    with connect({"t": table}, policy, tmp_path / "l") as session:
        releases = [session.sql(query, pure(spend)) for spend in ("0.5", "0.25")]
    with open_desk({"t": table}, policy, tmp_path / "l", shelf=True) as desk:
        ada = desk.sign_in("ada", desk.owner().grant("ada", pure(1)))
        answers = desk.quote(ada, Ask(query)).answers
        assert [each.loss for each in answers] == [pure("0.5"), pure("0.25")]
        assert [each.errors["s"] for each in answers] == [float(max(each.error("s"))) for each in releases]
        assert desk.answer(ada, Ask(query)).payload == releases[0].to_bytes()


def test_buckets_fill_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    buckets = Buckets(rate=2, burst=3)
    assert [buckets.take("ada") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("ada") == pytest.approx(0.5)
    assert buckets.take("ben") == 0
    now[0] = 0.5
    assert buckets.take("ada") == 0
    now[0] = 100
    assert [buckets.take("ada") > 0 for _ in range(4)] == [False, False, False, True]


def test_what_is_used_least_goes_first() -> None:
    sized = RecentlyUsed[bytes](10, 10, len)
    for name, size in (("a", 4), ("b", 4), ("a", 0), ("c", 4)):
        sized.get(name, lambda size=size: bytes(size))
    assert [name for name in "abc" if sized.peek(name) is not None] == ["a", "c"]
    sized.drop("a")
    assert len(sized) == 1
    with pytest.raises(ZeroDivisionError):
        sized.get("d", lambda: 1 // 0)  # pyright: ignore[reportArgumentType]
    assert sized.peek("d") is None


def test_losses_of_all_currencies_are_ordered_by_the_noise_that_they_buy() -> None:
    ascending = [pure("0.1"), rho("0.01"), mu("0.2"), approx("0.3", "0.001"), pure(1), rho("0.5"), mu(2)]
    assert [_size(each) for each in ascending] == sorted(map(_size, ascending))
