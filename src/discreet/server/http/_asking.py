"""What a route is given: the API, and who asks at which desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Query, Request

from discreet.server.desk import AuditorDesk, Caller, Desk, OwnerDesk

__all__ = ["ApiOf", "Asking", "AskingAt", "IdempotencyKey", "Level", "PreferHeader", "asking_at"]


_T = TypeVar("_T")


async def _api(request: Request) -> Any:
    return request.app.state.api


ApiOf = Annotated[Any, Depends(_api)]


class Asking:
    """A caller at a desk."""

    __slots__ = ("caller", "desk")

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self.desk, self.caller = desk, caller

    async def decide(self, api: Any, act: Callable[[OwnerDesk], _T]) -> _T:
        """Decide something as the owner, in a thread. Raises `Refusal` ("role") for anybody else."""

        def run() -> _T:
            with self.desk.deciding(self.caller) as owner:
                return act(owner)

        return await api.run(run)

    async def audit(self, api: Any, act: Callable[[AuditorDesk], _T]) -> _T:
        """Read something as an auditor or the owner, in a thread. Raises `Refusal` ("role") for an analyst."""

        def run() -> _T:
            with self.desk.auditing(self.caller) as auditor:
                return act(auditor)

        return await api.run_long(self.caller, run)


async def asking_at(request: Request, api: Any, source: str | None) -> Asking:
    """Who asks at a source. Raises `Refusal`."""
    desk = api.desk(source)
    return Asking(desk, await api.caller(request, desk))


async def _asking(
    request: Request,
    api: ApiOf,
    source: Annotated[str | None, Query(max_length=64, description="The source, where there are several.")] = None,
) -> Asking:
    return await asking_at(request, api, source)


AskingAt = Annotated[Asking, Depends(_asking)]
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=128, pattern=r"^[!-~]+$", description="A new one for each request."),
]
PreferHeader = Annotated[str | None, Header(alias="Prefer", max_length=256)]
Level = Annotated[float, Query(gt=0, lt=1, description="The confidence of the error bars.")]
