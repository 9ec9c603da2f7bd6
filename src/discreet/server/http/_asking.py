"""What a route is given: the API, and who asks at which desk."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request

from discreet.server.desk import Caller, Desk

__all__ = ["ApiOf", "Asking", "AskingAt", "IdempotencyKey", "Level", "PreferHeader"]


async def _api(request: Request) -> Any:
    return request.app.state.api


ApiOf = Annotated[Any, Depends(_api)]


class Asking:
    """A caller at a desk."""

    __slots__ = ("caller", "desk")

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self.desk, self.caller = desk, caller


async def _asking(
    request: Request,
    api: ApiOf,
    source: Annotated[str | None, Query(max_length=64, description="The source, where there are several.")] = None,
) -> Asking:
    desk = api.desk(source)
    return Asking(desk, await api.caller(request, desk))


AskingAt = Annotated[Asking, Depends(_asking)]
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=128, pattern=r"^[!-~]+$", description="A new one for each request."),
]
PreferHeader = Annotated[str | None, Header(alias="Prefer", max_length=256)]
Level = Annotated[float, Query(gt=0, lt=1, description="The confidence of the error bars.")]
