"""Metrics: a closed list, for the owner alone, in which nothing hangs on the data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

import httpx2
import opentelemetry._logs
import opentelemetry.metrics
import opentelemetry.trace
import pyarrow as pa
import pytest
from fastapi import FastAPI

from discreet.errors import ParameterError
from discreet.privacy import pure
from discreet.server.desk import ANSWERS, SIGN_INS, Counters, Kind, open_desk
from discreet.server.desk._state import State
from discreet.server.http._app import create_app
from discreet.server.http._metrics import METRICS_TYPE
from discreet.server.http._options import ApiOptions

SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)*)\} ([0-9.e+-]+)')
ALLOWED = {
    "discreet_requests_total": {"route", "status"},
    "discreet_answers_total": {"source", "origin"},
    "discreet_refusals_total": {"source", "kind"},
    "discreet_sign_ins_total": {"source", "outcome"},
    "discreet_budget_remaining": {"source", "parameter"},
    "discreet_account_budget_remaining": {"source", "account", "parameter"},
}
"""All that there is. What is added here says nothing of rows, of time or of memory."""

BODY = {"query": "SELECT region, COUNT(*) AS n FROM visits GROUP BY region", "spend": {"epsilon": "0.5"}}
PAID = {**BODY, "max_price": {"epsilon": 1}}


def owner_of(ask: Any, desk: Any) -> dict[str, str]:
    token = ask("POST", "/owner/sign-in", json={"code": desk.owner_sign_ins.new_code()}).json()["token"]
    return {"Authorization": f"Bearer {token}"}


def samples(response: httpx2.Response) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples of a page, each line of which must be as the format has it."""
    assert response.status_code == 200 and response.headers["content-type"] == METRICS_TYPE
    read: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    types: dict[str, str] = {}
    for line in response.text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] in types
            key = match[1], frozenset(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', match[2]))
            assert key not in read
            read[key] = float(match[3])
    assert {name: kind for name, kind in types.items() if name.endswith("_total")} == dict.fromkeys(
        (name for name in ALLOWED if name.endswith("_total")), "counter"
    )
    return read


def value(read: Any, name: str, **labels: str) -> float:
    return read[name, frozenset(labels.items())]


def test_nothing_is_measured_that_is_not_on_the_list(ask: Any, team: Any) -> None:
    read = samples(ask("GET", "/metrics", headers=owner_of(ask, team.desk)))
    assert {name for name, _ in read} == ALLOWED.keys()
    for name, labels in read:
        assert {label for label, _ in labels} == ALLOWED[name], name
    kinds = {dict(labels)["kind"] for name, labels in read if name == "discreet_refusals_total"}
    assert kinds == set(get_args(Kind))
    routes = {dict(labels)["route"] for name, labels in read if name == "discreet_requests_total"}
    assert "POST /v1/answers" in routes and "other" in routes
    assert not any("shop" in route or "=" in route for route in routes)


def test_what_is_counted(ask: Any, team: Any) -> None:
    ada, headers = ("ada", team.tokens["ada"]), owner_of(ask, team.desk)
    before = samples(ask("GET", "/metrics", headers=headers))
    ask("POST", "/answers", ada, json=PAID, headers={"Idempotency-Key": "1"})
    ask("POST", "/answers", ada, json=BODY)
    ask("POST", "/answers", ada, json={**BODY, "rehearse": True})
    ask("POST", "/answers", ada, json={**PAID, "spend": {"epsilon": "0.25"}})  # without a key
    ask("POST", "/answers", ada, json={**BODY, "spend": {"epsilon": "0.25"}})  # without a price
    ask("POST", "/plans", ada, json={"query": "SELECT * FROM visits"})
    ask("GET", "/accounts", ada)
    ask("GET", "/budget", ("ada", "wrong"))
    ask("GET", "/nowhere/at/all")
    ask("BREW", "/budget")
    read = samples(ask("GET", "/metrics", headers=headers))

    def more(name: str, **labels: str) -> float:
        return value(read, name, **labels) - value(before, name, **labels)

    answers = {origin: more("discreet_answers_total", source="shop", origin=origin) for (origin,) in ANSWERS.series}
    assert answers == {"paid": 1, "public": 0, "repeat": 1, "shelf": 0, "rehearsal": 1}
    refusals = {kind: more("discreet_refusals_total", source="shop", kind=kind) for kind in get_args(Kind)}
    assert {kind: count for kind, count in refusals.items() if count} == {
        "missing-key": 1,
        "price": 1,
        "query": 1,
        "role": 1,
        "sign-in": 1,
    }
    assert more("discreet_sign_ins_total", source="shop", outcome="refused") == 1
    assert more("discreet_requests_total", route="POST /v1/answers", status="2xx") == 3
    assert more("discreet_requests_total", route="POST /v1/answers", status="4xx") == 2
    assert more("discreet_requests_total", route="other", status="4xx") == 2
    assert value(read, "discreet_budget_remaining", source="shop", parameter="epsilon") == 99.5
    assert value(read, "discreet_account_budget_remaining", source="shop", account="ada", parameter="epsilon") == 9.5
    assert value(read, "discreet_account_budget_remaining", source="shop", account="ben", parameter="epsilon") == 1


def test_they_are_for_the_owner_alone(ask: Any, team: Any) -> None:
    owner = owner_of(ask, team.desk)
    assert ask("GET", "/metrics").status_code == 401
    for name in ("ada", "officer"):
        assert ask("GET", "/metrics", (name, team.tokens[name])).status_code == 403
        assert ask("POST", "/metrics/token", (name, team.tokens[name])).status_code == 403
    first = ask("POST", "/metrics/token", headers=owner).json()["token"]
    reader = {"Authorization": f"Bearer {first}"}
    assert samples(ask("GET", "/metrics", headers=reader))
    for path in ("/budget", "/accounts", "/audit/log", "/history"):
        assert ask("GET", path, headers=reader).status_code == 401
    second = ask("POST", "/metrics/token", headers=owner).json()["token"]
    assert ask("GET", "/metrics", headers=reader).status_code == 401
    assert ask("GET", "/metrics", headers={"Authorization": f"Bearer {second}"}).status_code == 200
    for wrong in ("discreet-metrics-", "discreet-metrics-x", second.replace("metrics", "owner"), f"{second}x"):
        assert ask("GET", "/metrics", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401


POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 20},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 50,
            "columns": {"person": {"type": "int"}, "region": {"type": "string", "keys": ["north", "south"]}},
        }
    },
}


def clients(folder: Path, rows: Iterable[tuple[int, str | None]]) -> Any:
    people, regions = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"person": pa.array(people, pa.int64()), "region": pa.array(regions, pa.string())})
    folder.mkdir()
    return open_desk({"visits": table}, POLICY, folder / "a.ledger", state=folder / "a.desk")


def test_neighbouring_databases_have_the_same_metrics(tmp_path: Path, client_of: Callable[[Any], Any]) -> None:
    """One person more, with all the rows that one may have, or all the people there are."""
    few: list[tuple[int, str | None]] = [(i, ("north", "south")[i % 2]) for i in range(40)]
    strange: list[tuple[int, str | None]] = [(99, each) for each in (*["north"] * 48, None, "nowhere")]
    pages: list[str] = []
    for place, rows in enumerate((few, [*few, *strange], [])):
        with clients(tmp_path / str(place), rows) as desk:
            ask = client_of(create_app({"shop": desk}, ApiOptions(account_burst=1e4, address_burst=1e4)))
            ada = "ada", desk.owner().grant("ada", pure(2)) or ""
            headers = owner_of(ask, desk)
            for number in range(4):
                spend = {"spend": {"epsilon": f"0.{number + 5}"}}
                keyed = {"Idempotency-Key": str(number)}
                ask("POST", "/answers", ada, json={**PAID, **spend}, headers=keyed)
                ask("POST", "/answers", ada, json={**BODY, **spend})
                ask("POST", "/plans", ada, json={**BODY, **spend})
                ask("POST", "/answers", ada, json={**BODY, **spend, "rehearse": True})
            for query in ("SELECT 1 / COUNT(*) AS n FROM visits", "SELECT person FROM visits", "SELECT", ""):
                ask("POST", "/answers", ada, json={**PAID, "query": query}, headers={"Idempotency-Key": f"q{query}"})
            pages.append(ask("GET", "/metrics", headers=headers).text)
            ask.close()
    assert 'discreet_answers_total{source="shop",origin="paid"}' in pages[0]
    assert 'kind="budget"} 0' not in pages[0]
    assert pages[0] == pages[1] == pages[2]


def test_counts_of_several_processes_add_up(tmp_path: Path) -> None:
    """Each has its own connection to the file, as each worker has."""
    workers = [Counters(State(tmp_path / "a.desk")) for _ in range(3)]
    for worker in workers:
        for _ in range(4):
            worker.add(SIGN_INS, "admitted")
    assert workers[0].totals(SIGN_INS) == {("admitted",): 4, ("refused",): 0}
    workers[1].flush()
    workers[2].flush()
    workers[2].flush()
    assert workers[0].totals(SIGN_INS) == {("admitted",): 12, ("refused",): 0}
    assert workers[0].own(SIGN_INS)["admitted",] == 4
    assert Counters(State(tmp_path / "a.desk")).totals(SIGN_INS)["admitted",] == 12
    with pytest.raises(ParameterError):
        workers[0].add(SIGN_INS, "perhaps")


def test_counts_that_cannot_be_saved_are_saved_later(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(None)
    counters = Counters(state)
    counters.add(SIGN_INS, "refused")
    with monkeypatch.context() as patch:
        patch.setattr(state, "transaction", lambda **_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            counters.flush()
    counters.add(SIGN_INS, "refused")
    assert counters.totals(SIGN_INS)["refused",] == 2


class FakeMeter:
    """What an SDK of OpenTelemetry is given."""

    def __init__(self) -> None:
        self.instruments: dict[str, Callable[..., Any]] = {}

    def create_observable_counter(self, name: str, callbacks: Any, description: str) -> None:
        assert description and name not in self.instruments
        (self.instruments[name],) = callbacks

    create_observable_gauge = create_observable_counter


def test_opentelemetry_has_the_same_list(ask: Any, team: Any) -> None:
    ask("POST", "/answers", ("ada", team.tokens["ada"]), json=PAID, headers={"Idempotency-Key": "1"})
    meter = FakeMeter()
    metrics = ask.app.state.api.metrics
    with metrics.exported(meter):
        assert {name.removesuffix("_total") for name in ALLOWED} == meter.instruments.keys()
        seen = {name: observe(None) for name, observe in meter.instruments.items()}
        for name, observed in seen.items():
            labels = ALLOWED.get(name) or ALLOWED[f"{name}_total"]
            assert observed and all(set(each.attributes) == labels for each in observed)
        (paid,) = [each for each in seen["discreet_answers"] if each.attributes["origin"] == "paid"]
        assert paid.value == 1
    assert all(observe(None) == [] for observe in meter.instruments.values())


def test_the_framework_measures_nothing_by_itself(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI would export how long each request takes and how large it is, wherever there is an exporter."""
    for signal in (opentelemetry.metrics, opentelemetry.trace, opentelemetry._logs):
        for name in ("get_meter_provider", "get_tracer_provider", "get_logger_provider"):
            if hasattr(signal, name):
                monkeypatch.setattr(signal, name, object)
    assert FastAPI()._native_telemetry.enabled()
    assert not ask.app._native_telemetry.enabled()


def test_labels_cannot_break_a_line(tmp_path: Path, client_of: Callable[[Any], Any]) -> None:
    with clients(tmp_path / "x", [(1, "north")]) as desk:
        ask = client_of(create_app({'a"b\\c\nd': desk}, ApiOptions()))
        read = samples(ask("GET", "/metrics", headers=owner_of(ask, desk)))
        assert any('a\\"b\\\\c\\nd' in dict(labels).get("source", "") for _, labels in read)
        ask.close()


def test_a_refusal_that_a_front_makes_is_in_the_log(ask: Any, team: Any) -> None:
    ada = "ada", team.tokens["ada"]
    ask("POST", "/answers", ada, json=PAID)
    last = team.desk.log.entries(count=1000)[-1]
    assert (last.act, last.account, last.data) == ("refusal", "ada", {"asked": "refusal", "kind": "missing-key"})
    count = len(team.desk.log.entries(count=1000))
    assert ask("POST", "/answers", ada, json=PAID, headers={"Idempotency-Key": "1"}).status_code == 200
    assert len(team.desk.log.entries(count=1000)) == count  # looking for a free answer first is no refusal
