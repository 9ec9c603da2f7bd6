"""Before a body is read: the address is counted, somebody has signed in, and the body is not too long."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from discreet.server.http._app import create_app

WITH_BODIES = (
    *(("POST", path) for path in ("/plans", "/answers", "/suggestions", "/baskets", "/requests", "/requests/1")),
    *(("POST", path) for path in ("/accounts", "/accounts/ada/renew", "/transfers")),
    ("PATCH", "/accounts/ada"),
)


class Unread:
    """What an application receives where it may read nothing; it sees what is sent."""

    def __init__(self) -> None:
        self.status, self.content = 0, b""

    async def receive(self) -> Any:
        pytest.fail("the body was read")

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.content += message.get("body", b"")

    def ask(self, client: Any, method: str, path: str, length: int, *headers: tuple[bytes, bytes]) -> tuple[int, str]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": f"/v1{path}",
            "raw_path": f"/v1{path}".encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"content-length", b"%d" % length), (b"content-type", b"application/json"), *headers],
            "client": ("127.0.0.1", 1),
            "server": ("desk", 80),
            "state": {},
        }
        client.run(client.app(scope, self.receive, self.send))
        return self.status, json.loads(self.content)["kind"]


def basic(account: str, token: str) -> tuple[bytes, bytes]:
    return b"authorization", b"Basic " + b64encode(f"{account}:{token}".encode())


@pytest.mark.parametrize(("method", "path"), WITH_BODIES)
def test_no_body_is_read_of_somebody_who_has_not_signed_in(ask: Any, team: Any, method: str, path: str) -> None:
    assert Unread().ask(ask, method, path, 1000) == (401, "sign-in")
    assert Unread().ask(ask, method, path, 1000, basic("ada", "x")) == (401, "sign-in")
    large = 1 << 20 if path == "/baskets" else 1 << 18
    assert Unread().ask(ask, method, path, large + 1, basic("ada", team.tokens["ada"])) == (413, "parameter")


def test_a_body_that_is_read_before_anybody_signed_in_is_small(ask: Any) -> None:
    assert Unread().ask(ask, "POST", "/owner/sign-in", 5000) == (413, "parameter")
    assert Unread().ask(ask, "POST", "/verify", 1000) == (401, "sign-in")
    assert Unread().ask(ask, "POST", "/verify", (1 << 20) + 1) == (413, "parameter")


def test_requests_count_for_their_address_and_account_before_their_bodies_are_read(slowly: Any, team: Any) -> None:
    ada = basic("ada", team.tokens["ada"])
    for _ in range(3):
        assert slowly("GET", "/budget", headers={"Authorization": ada[1].decode()}).status_code == 200
    assert Unread().ask(slowly, "POST", "/plans", 1000, ada) == (429, "rate")
    assert slowly("GET", "/nowhere").status_code == 404
    for path in ("/plans", "/nowhere", "/openapi.json", "/verify"):
        assert Unread().ask(slowly, "POST", path, 1000) == (429, "rate")


@pytest.mark.parametrize("place", ["error", "spend", "assume", None])
def test_an_object_of_many_names_is_one_error(ask: Any, team: Any, place: str | None) -> None:
    names = {f"n{i}": [] for i in range(101)}
    body = names if place is None else {"query": "SELECT 1", place: names}
    for path, content in (("/plans", body), ("/baskets", {"questions": [body]})):
        refused = ask("POST", path, ("ada", team.tokens["ada"]), json=content)
        assert refused.status_code == 422
        assert "at most 100 names" in refused.json()["detail"]


def test_whoever_has_signed_in_at_one_source_is_heard_there(team: Any, sharing: Any, client_of: Any) -> None:
    client = client_of(create_app({"shop": team.desk, "bank": sharing.desk}))
    body = {"query": "SELECT COUNT(*) AS n FROM visits", "source": "bank"}
    assert client("POST", "/plans", ("ben", sharing.tokens["ben"]), json=body).status_code == 200
    refused = client("POST", "/plans", ("ben", team.tokens["ben"]), json=body)
    assert (refused.status_code, refused.json()["kind"]) == (401, "sign-in")
    client.close()
