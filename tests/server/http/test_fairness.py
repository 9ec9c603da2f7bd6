"""No account takes all threads from the others, whatever it asks."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx2
import pytest

from discreet.server.desk import Desk
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions

MANY = 100
PLAN = {"query": "SELECT COUNT(*) AS n FROM visits", "spend": {"epsilon": 1}}


@pytest.mark.parametrize(
    ("held", "path", "body"),
    [
        ("quote", "/plans", PLAN),
        ("quote_all", "/baskets", {"questions": [PLAN], "plan": True}),
        ("answer", "/answers", PLAN),
        ("rehearse", "/answers", {**PLAN, "rehearse": True}),
    ],
)
def test_what_one_account_plans_keeps_no_other_waiting(
    team: Any, monkeypatch: pytest.MonkeyPatch, held: str, path: str, body: Any
) -> None:
    asked, goes_on = getattr(Desk, held), threading.Event()

    def hold(desk: Desk, caller: Any, *given: Any, **more: Any) -> Any:
        if caller.account == "ada":
            goes_on.wait(60)
        return asked(desk, caller, *given, **more)

    monkeypatch.setattr(Desk, held, hold)

    async def ask() -> None:
        transport = httpx2.ASGITransport(create_app({"shop": team.desk}, ApiOptions(account_burst=1e4)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://desk/v1", timeout=60) as client:
            ada, ben = (httpx2.BasicAuth(name, team.tokens[name]) for name in ("ada", "ben"))
            waiting = [asyncio.create_task(client.post(path, json=body, auth=ada)) for _ in range(MANY)]
            try:
                await asyncio.sleep(0.3)
                budget = await asyncio.wait_for(client.get("/budget", auth=ben), 20)
                plan = await asyncio.wait_for(client.post("/plans", json=PLAN, auth=ben), 20)
                assert (budget.status_code, plan.status_code) == (200, 200)
                assert not any(each.done() for each in waiting)
            finally:
                goes_on.set()
                await asyncio.gather(*waiting)

    asyncio.run(ask())
