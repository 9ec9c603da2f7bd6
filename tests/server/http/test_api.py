"""The HTTP API: what is free comes free, what costs needs a price and a key, and each refusal has its problem."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pyarrow as pa
import pytest

from discreet.privacy import pure
from discreet.query import Release
from discreet.server.http._app import create_app
from discreet.server.http._problems import STATUSES

QUERY = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
BODY = {"query": QUERY, "spend": {"epsilon": "0.5"}}
PAID = {**BODY, "max_price": {"epsilon": 1}}
KEY = {"Idempotency-Key": "first"}


def problem(response: httpx2.Response, kind: str) -> dict[str, Any]:
    content = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert content["kind"] == kind, content
    assert response.status_code == content["status"] == STATUSES[kind][0]  # pyright: ignore[reportArgumentType]
    assert content["type"].endswith(f"/{kind}")
    return content


@pytest.fixture
def ada(team: Any) -> tuple[str, str]:
    return "ada", team.tokens["ada"]


@pytest.fixture
def owner(team: Any, ask: Any) -> dict[str, str]:
    response = ask("POST", "/owner/sign-in", json={"code": team.desk.owner_sign_ins.new_code()})
    return {"Authorization": f"Bearer {response.json()['token']}"}


def test_what_may_be_left_out_may_be_null(ask: Any, ada: Any) -> None:
    names = ("source", "spend", "error", "currency", "delta", "assume")
    body = {"query": "SELECT COUNT(*) AS n FROM visits", **dict.fromkeys(names)}
    assert ask("POST", "/plans", ada, json=body).status_code == 200
    assert ask("POST", "/baskets", ada, json={"questions": [body], "plan": True, "source": None}).status_code == 200


def test_a_question_is_planned_priced_bought_and_free_again(ask: Any, ada: Any) -> None:
    plan = ask("POST", "/plans", ada, json=BODY).json()
    assert plan["price"] == plan["loss"] == {"kind": "pure", "epsilon": "1/2"}
    assert [(each["name"], each["noisy"]) for each in plan["columns"]] == [("region", False), ("n", True)]
    assert "region" in plan["words"]

    assert problem(ask("POST", "/answers", ada, json=BODY, headers=KEY), "price")["price"] == plan["price"]
    assert problem(ask("POST", "/answers", ada, json=PAID), "missing-key")["price"] == plan["price"]
    first = ask("POST", "/answers", ada, json=PAID, headers=KEY)
    assert (first.status_code, first.headers["discreet-source"]) == (200, "paid")
    assert json.loads(first.headers["discreet-price"]) == plan["price"]
    assert first.headers["cache-control"] == "no-store"

    for again in (
        ask("POST", "/answers", ada, json=BODY),
        ask("POST", "/answers", ada, json={"query": QUERY}),
        ask("POST", "/answers", ada, json=PAID, headers=KEY),
        ask("GET", f"/answers/{first.headers['discreet-answer']}", ada),
    ):
        assert (again.status_code, again.headers["discreet-source"]) == (200, "repeat")
        assert json.loads(again.headers["discreet-price"]) is None
        assert again.content == first.content
    other = {**PAID, "spend": {"epsilon": "0.25"}}
    problem(ask("POST", "/answers", ada, json=other, headers=KEY), "key")
    assert ask("GET", "/budget", ada).json()["spent"] == {"kind": "pure", "epsilon": "1/2"}
    dearer = {**BODY, "spend": {"epsilon": "0.75"}}
    (earlier,) = ask("POST", "/plans", ada, json=dearer).json()["answers"]
    assert earlier["id"] == first.headers["discreet-answer"]


def test_answers_are_json_csv_arrow_or_as_they_are_stored(ask: Any, ada: Any) -> None:
    first = ask("POST", "/answers", ada, json=PAID, headers=KEY).json()
    stored = ask("POST", "/answers", ada, json=BODY, headers={"Accept": "application/vnd.discreet.release"})
    release = Release.from_bytes(stored.content)
    assert first["rows"] == [list(row.values()) for row in release.to_arrow().to_pylist()]
    lines = ask("POST", "/answers", ada, json=BODY, headers={"Accept": "text/csv"}).text.splitlines()
    assert lines[0] == "region,n,n_low,n_high"
    assert len(lines) == 3
    arrow = ask("POST", "/answers", ada, json=BODY, headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert pa.ipc.open_stream(arrow.content).read_all().equals(release.to_arrow(errors=True))
    certificate = ask("GET", f"/answers/{stored.headers['discreet-answer']}/certificate", ada).json()
    assert certificate == release.certificate
    checked = ask("POST", "/verify", ada, content=stored.content).json()
    assert checked["good"]
    spoilt = stored.content.replace(b"north", b"nurth")
    assert not ask("POST", "/verify", ada, content=spoilt).json()["good"]
    problem(ask("POST", "/verify", ada, content=b"nothing"), "parameter")


def test_a_question_may_be_answered_while_its_asker_waits(ask: Any, ada: Any) -> None:
    headers = {**KEY, "Prefer": "respond-async"}
    accepted = ask("POST", "/answers", ada, json=PAID, headers=headers)
    assert accepted.status_code == 202
    path = accepted.headers["location"].removeprefix("/v1")
    events = ask("GET", f"{path}/events", ada).text.split("\n\n")
    assert events[-2].startswith("event: done\n")
    assert {line.partition(":")[0] for event in events for line in event.splitlines()} == {"event", "data"}
    assert all(set(json.loads(event.splitlines()[1].removeprefix("data: "))) == {"seconds"} for event in events[:-1])
    answered = ask("GET", path, ada)
    assert (answered.status_code, answered.headers["discreet-source"]) == (200, "repeat")
    problem(ask("DELETE", path, ada), "unknown")
    large = {**PAID, "spend": {"epsilon": 20}, "max_price": {"epsilon": 20}}
    failed = ask("POST", "/answers", ada, json=large, headers={**headers, "Idempotency-Key": "second"})
    assert failed.status_code == 202
    path = failed.headers["location"].removeprefix("/v1")
    ask("GET", f"{path}/events", ada)
    problem(ask("GET", path, ada), "budget")


def test_baskets_rehearsals_and_suggestions(ask: Any, ada: Any) -> None:
    questions = [BODY, {"query": "SELECT COUNT(*) AS n FROM visits", "spend": {"epsilon": "0.25"}}]
    plan = ask("POST", "/baskets", ada, json={"questions": questions, "plan": True}).json()
    assert plan["price"] == {"kind": "pure", "epsilon": "3/4"}
    basket = {"questions": questions, "max_price": plan["price"]}
    problem(ask("POST", "/baskets", ada, json=basket), "missing-key")
    answers = ask("POST", "/baskets", ada, json=basket, headers=KEY).json()["answers"]
    assert [each["source"] for each in answers] == ["paid", "paid"]
    assert ask("POST", "/answers", ada, json=BODY).json() == answers[0]["answer"]

    rehearsed = ask("POST", "/answers", ada, json={**BODY, "spend": {"epsilon": 3}, "rehearse": True})
    assert rehearsed.headers["discreet-source"] == "rehearsal"
    assert rehearsed.json()["rehearsal"] is True
    suggestion = {"table": "visits", "column": "person", "spend": {"epsilon": 1}, "max_price": {"epsilon": 1}}
    bought = ask("POST", "/suggestions", ada, json=suggestion, headers={"Idempotency-Key": "third"})
    assert bought.headers["discreet-source"] == "paid"
    assert ask("GET", "/budget", ada).json()["spent"] == {"kind": "pure", "epsilon": "7/4"}
    charges = ask("GET", "/history", ada).json()["charges"]
    assert charges[0]["question"] == "suggestion"
    assert all("account" not in each for each in charges)


def test_what_has_no_such_form_is_refused_before_it_costs(ask: Any, ada: Any) -> None:
    suggestion = {"table": "visits", "column": "person", "spend": {"epsilon": 1}, "max_price": {"epsilon": 1}}
    for form in ("text/csv", "application/vnd.apache.arrow.stream"):
        headers = {"Idempotency-Key": form, "Accept": form}
        problem(ask("POST", "/suggestions", ada, json=suggestion, headers=headers), "parameter")
    assert ask("GET", "/history", ada).json() == {"charges": []}


def test_a_basket_is_asked_at_one_source(team: Any, sharing: Any, client_of: Any) -> None:
    client, ada = client_of(create_app({"shop": team.desk, "bank": sharing.desk})), ("ada", team.tokens["ada"])
    price = {"epsilon": 2}
    for name in ("bank", "no"):
        content = {"source": "shop", "questions": [BODY, {**BODY, "source": name}], "max_price": price}
        problem(client("POST", "/baskets", ada, json=content, headers=KEY), "parameter")
    assert client("GET", "/history?source=shop", ada).json() == {"charges": []}
    content = {"source": "shop", "questions": [{**BODY, "source": "shop"}], "max_price": price}
    assert client("POST", "/baskets", ada, json=content, headers=KEY).status_code == 200
    client.close()


def test_owners_decide_and_auditors_read(ask: Any, team: Any, ada: Any, owner: Any) -> None:
    officer = ("officer", team.tokens["officer"])
    granted = ask("POST", "/accounts", headers=owner, json={"name": "cyd", "cap": {"epsilon": 1}})
    assert granted.status_code == 201
    cyd = ("cyd", granted.json()["token"])
    problem(ask("POST", "/accounts", headers=owner, json={"name": "cyd", "cap": {"epsilon": 1}}), "parameter")
    asked = ask("POST", "/requests", cyd, json={"spend": {"epsilon": 1}, "reason": "a survey"})
    assert asked.status_code == 201
    number = asked.json()["number"]
    problem(ask("POST", f"/requests/{number}", cyd, json={"granted": True}), "role")
    assert ask("POST", f"/requests/{number}", headers=owner, json={"granted": True}).json()["state"] == "granted"
    assert ask("GET", "/budget", cyd).json()["cap"] == {"kind": "pure", "epsilon": "2"}
    assert ask("PATCH", "/accounts/cyd", headers=owner, json={"cap": {"epsilon": 4}}).status_code == 204
    transfer = {"giver": "cyd", "taker": "ada", "spend": {"epsilon": 1}}
    assert ask("POST", "/transfers", headers=owner, json=transfer).status_code == 204
    assert ask("GET", "/budget", cyd).json()["cap"] == {"kind": "pure", "epsilon": "3"}

    for path, kind in (("/accounts/cyd/freeze", "frozen"), ("/ledger/freeze", "frozen")):
        assert ask("POST", path, headers=owner).status_code == 204
        problem(ask("POST", "/answers", cyd, json=PAID, headers=KEY), kind)
        assert ask("POST", path.replace("freeze", "thaw"), headers=owner).status_code == 204
    renewed = ask("POST", "/accounts/cyd/token", headers=owner).json()["token"]
    problem(ask("GET", "/budget", cyd), "sign-in")
    assert ask("GET", "/budget", ("cyd", renewed)).status_code == 200
    assert ask("DELETE", "/accounts/cyd", headers=owner).status_code == 204
    problem(ask("GET", "/budget", ("cyd", renewed)), "sign-in")

    checked = ask("GET", "/audit/check", officer).json()
    assert checked["head"] == ask("GET", "/audit/head", officer).json()
    anchored = [
        ask("GET", f"/audit/check?anchor={anchor}", officer).json() for anchor in (checked["head"]["hash"], "0" * 64)
    ]
    assert [(each["good"], each.get("broken")) for each in anchored] == [(True, None), (False, ["ledger"])]
    noted = checked["head"]["log"]["hash"]
    anchored = [ask("GET", f"/audit/check?log_anchor={each}", officer).json() for each in (noted, "0" * 64)]
    assert [(each["good"], each.get("broken")) for each in anchored] == [(True, None), (False, ["log"])]
    assert ask("GET", "/audit/entries?count=3", officer).json()["entries"][0]["kind"] == "freeze"
    acts = [line["act"] for line in ask("GET", "/audit/log?count=1000", officer).json()["lines"]]
    assert {"grant", "freeze", "thaw", "rotate", "revoke", "transfer", "request", "refusal"} <= set(acts)
    for path in ("/accounts", "/audit/head", "/audit/log", "/audit/check", "/audit/entries"):
        problem(ask("GET", path, ada), "role")
    for body, path in (({"name": "x", "cap": {"epsilon": 1}}, "/accounts"), (transfer, "/transfers")):
        problem(ask("POST", path, officer, json=body), "role")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "parameter"),
        ({"query": 3}, "parameter"),
        ({**BODY, "sped": 1}, "parameter"),
        ({**BODY, "spend": {}}, "parameter"),
        ({**BODY, "spend": {"epsilon": 1, "rho": 1}}, "parameter"),
        ({**BODY, "spend": {"epsilon": -1}}, "parameter"),
        ({**BODY, "spend": {"epsilon": "1e400000"}}, "parameter"),
        ({**BODY, "spend": {"epsilon": "NaN"}}, "parameter"),
        ({**BODY, "spend": {"kind": "sum", "epsilon": 1}}, "parameter"),
        ({**BODY, "level": 1}, "parameter"),
        ({**BODY, "error": {"n": 1}}, "parameter"),
        ({**BODY, "dialect": "oracle"}, "parameter"),
        ({**BODY, "source": "other"}, "unknown"),
        ({**BODY, "query": "SELECT * FROM visits"}, "query"),
        ({**BODY, "query": "SELECT COUNT(*) FROM visits; SELECT 1"}, "query"),
        ({**BODY, "query": "x" * 70_000}, "parameter"),
        ({**BODY, "query": "\ud800"}, "parameter"),
    ],
)
def test_what_is_wrong_is_said(ask: Any, ada: Any, body: Any, kind: str) -> None:
    content = json.dumps(body).encode()
    for path in ("/plans", "/answers"):
        response = ask("POST", path, ada, content=content, headers={"Content-Type": "application/json"})
        assert len(problem(response, kind)["detail"]) < 1_000


def test_nobody_is_told_apart_from_somebody_else(ask: Any, team: Any, ada: Any) -> None:
    problems = [
        problem(ask("GET", "/budget", auth), "sign-in")
        for auth in (("ada", "x"), ("nobody", ada[1]), ("", ""), ("officer", ada[1]), ("a" * 300, "x"))
    ]
    assert len({json.dumps(each) for each in problems}) == 1
    for header in ("Basic", "Basic x", "Basic YWRh", "Bearer", "Bearer discreet-owner-x", "Bearer a.b.c", "Digest x"):
        problem(ask("GET", "/budget", headers={"Authorization": header}), "sign-in")
    for path in ("/policy", "/key", "/history", "/shelf", "/sources", "/requests", "/answers/x", "/audit/head"):
        problem(ask("GET", path), "sign-in")
    problem(ask("POST", "/owner/sign-in", json={"code": "x"}), "sign-in")
    assert team.tokens["ada"] not in ask("GET", "/history", ada).text


def test_too_many_requests_wait(slowly: Any, ada: Any, team: Any) -> None:
    statuses = [slowly("GET", "/budget", ada).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert int(slowly("GET", "/budget", ("ben", team.tokens["ben"])).headers.get("retry-after", 0)) == 0
    refused = slowly("GET", "/budget", ("ben", team.tokens["ben"]))
    problem(refused, "rate")
    assert int(refused.headers["retry-after"]) > 10


def test_paths_and_methods_that_are_not_there(ask: Any, ada: Any) -> None:
    problem(ask("GET", "/nothing", ada), "unknown")
    assert ask("PUT", "/answers", ada, json=BODY).status_code == 405
    document = ask("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 20


def test_what_fails_within_is_not_told(ask: Any, ada: Any, team: Any, monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("row 17 of /srv/secret")

    monkeypatch.setattr(team.desk, "budget", fail)
    response = ask("GET", "/budget", ada)
    assert response.status_code == 500
    assert "secret" not in response.text
    assert pure(10) == team.desk.sign_in("ada", ada[1]).ledger.budget


def test_one_code_signs_the_owner_in_at_all_sources(team: Any, sharing: Any, client_of: Any) -> None:
    code = team.desk.owner_sign_ins.new_code()
    assert sharing.desk.owner_sign_ins.new_code(code) == code
    client = client_of(create_app({"one": team.desk, "other": sharing.desk}))
    token = client("POST", "/owner/sign-in", json={"code": code}).json()["token"]
    for source in ("one", "other"):
        answer = client("GET", f"/accounts?source={source}", headers={"Authorization": f"Bearer {token}"})
        assert [each["name"] for each in answer.json()["accounts"]] == ["", "ada", "ben", "officer"]
    problem(client("POST", "/owner/sign-in", json={"code": code}), "sign-in")
    problem(client("GET", "/accounts", headers={"Authorization": f"Bearer {token}"}), "unknown")
    client.close()
