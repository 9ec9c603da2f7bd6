"""What the owner of the data decides: accounts, caps, and requests for budget."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from discreet.server.desk import AuditorDesk, OwnerDesk, Refusal
from discreet.server.http._admission import AdmittedRoute
from discreet.server.http._asking import ApiOf, AskingAt
from discreet.server.http._described import request_json
from discreet.server.http._metrics import METRICS_TYPE
from discreet.server.http._models import AmendBody, DecisionBody, GrantBody, Spend, TransferBody
from discreet.server.http._sign_ins import METRICS_TOKEN

__all__ = ["router"]

router = APIRouter(route_class=AdmittedRoute)

AccountName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}$")]


@router.get("/accounts")
async def accounts(api: ApiOf, asking: AskingAt) -> Response:
    """The whole budget and every account under it, for auditors and the owner."""
    return JSONResponse({"accounts": await asking.audit(api, AuditorDesk.accounts)})


@router.post("/accounts", status_code=201)
async def grant(api: ApiOf, asking: AskingAt, body: GrantBody) -> Response:
    """Make an account. Its token is in this answer and nowhere else."""
    there = await asking.decide(api, lambda owner: owner.names())
    if body.name in there:
        raise Refusal("parameter", f"there is an account {body.name!r} already: amend it, or take another name")
    cap = None if body.cap is None else body.cap.to_loss()
    terms: dict[str, Any] = {"role": body.role, "every": body.every, "until": body.until, "part": body.part}
    token = await asking.decide(api, lambda owner: owner.grant(body.name, cap, **terms))
    content = {"name": body.name, "token": token}
    return JSONResponse(content, 201, {"Cache-Control": "no-store"})


@router.patch("/accounts/{name}", status_code=204)
async def amend(api: ApiOf, asking: AskingAt, name: AccountName, body: AmendBody) -> Response:
    """Change what is named of an account, and leave the rest."""
    cap = None if body.cap is None else body.cap.to_loss()
    await asking.decide(api, lambda owner: owner.amend(name, cap=cap, every=body.every, until=body.until))
    return Response(status_code=204)


@router.post("/accounts/{name}/token", status_code=201)
async def rotate(api: ApiOf, asking: AskingAt, name: AccountName) -> Response:
    """A new token for an account, in place of its old one."""
    token = await asking.decide(api, lambda owner: owner.rotate(name))
    return JSONResponse({"name": name, "token": token}, 201, {"Cache-Control": "no-store"})


@router.delete("/accounts/{name}", status_code=204)
async def revoke(api: ApiOf, asking: AskingAt, name: AccountName) -> Response:
    """Freeze an account and let no token open it. What it spent stays spent."""
    await asking.decide(api, lambda owner: owner.revoke(name))
    return Response(status_code=204)


@router.post("/accounts/{name}/freeze", status_code=204)
async def freeze(api: ApiOf, asking: AskingAt, name: AccountName) -> Response:
    """Stop an account: nothing more is spent until it is thawed."""
    await asking.decide(api, lambda owner: owner.freeze(name))
    return Response(status_code=204)


@router.post("/accounts/{name}/thaw", status_code=204)
async def thaw(api: ApiOf, asking: AskingAt, name: AccountName) -> Response:
    """Let an account spend again."""
    await asking.decide(api, lambda owner: owner.thaw(name))
    return Response(status_code=204)


@router.post("/accounts/{name}/renew", status_code=204)
async def renew(api: ApiOf, asking: AskingAt, name: AccountName, cap: Spend | None = None) -> Response:
    """Begin a new window of an account, with another cap if one is given."""
    await asking.decide(api, lambda owner: owner.renew(name, None if cap is None else cap.to_loss()))
    return Response(status_code=204)


@router.post("/ledger/freeze", status_code=204)
async def freeze_all(api: ApiOf, asking: AskingAt) -> Response:
    """Stop the whole ledger: no account spends until it is thawed. What was answered can be had again."""
    await asking.decide(api, lambda owner: owner.freeze(""))
    return Response(status_code=204)


@router.post("/ledger/thaw", status_code=204)
async def thaw_all(api: ApiOf, asking: AskingAt) -> Response:
    """Let the accounts spend again."""
    await asking.decide(api, lambda owner: owner.thaw(""))
    return Response(status_code=204)


@router.post("/transfers", status_code=204)
async def transfer(api: ApiOf, asking: AskingAt, body: TransferBody) -> Response:
    """Move a part of one account's cap to another."""
    await asking.decide(api, lambda owner: owner.transfer(body.giver, body.taker, body.spend.to_loss()))
    return Response(status_code=204)


@router.post("/requests/{number}")
async def decide(
    api: ApiOf, asking: AskingAt, number: Annotated[int, Path(ge=1, le=2**53)], body: DecisionBody
) -> Response:
    """Grant a request for budget, by which the account's cap grows, or decline it."""
    decided = await asking.decide(api, lambda owner: owner.approve(number) if body.granted else owner.decline(number))
    return JSONResponse(request_json(decided))


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(api: ApiOf, request: Request) -> Response:
    """Counters and budgets in Prometheus's text format, for the owner, or by the token that reads them alone."""
    authorization = request.headers.get("authorization", "")
    token = authorization.removeprefix(f"Bearer {METRICS_TOKEN}")
    if token != authorization:
        desks = await api.run(_read_by, api, token)
    else:
        desks = await _owned(api, request)
    return Response(await api.run(api.metrics.prometheus_text, desks), media_type=METRICS_TYPE)


@router.post("/metrics/token", status_code=201)
async def metrics_token(api: ApiOf, asking: AskingAt) -> Response:
    """A token that reads the metrics and nothing else, in place of the one before it. It is in this answer alone."""

    def renewed(owner: OwnerDesk) -> str:
        owner.log.append("rotate", "", token="metrics")  # noqa: S106 - which one, and no secret
        return asking.desk.owner_sign_ins.new_metrics_token()

    token = await asking.decide(api, renewed)
    return JSONResponse({"token": f"{METRICS_TOKEN}{token}"}, 201, {"Cache-Control": "no-store"})


async def _owned(api: Any, request: Request) -> dict[str, Any]:
    """The desks whose owner sends a request. Raises `Refusal` if there are none."""
    owned: dict[str, Any] = {}
    refused: Refusal | None = None
    for name, desk in api.desks.items():
        try:
            caller = await api.caller(request, desk)
            await api.run(_check_owner, desk, caller)
            owned[name] = desk
        except Refusal as refusal:
            refused = refusal
    if refused is not None and not owned:
        raise refused
    return owned


def _check_owner(desk: Any, caller: Any) -> None:
    with desk.deciding(caller):
        pass


def _read_by(api: Any, token: str) -> dict[str, Any]:
    """The desks whose metrics a token reads. Raises `Refusal` if there are none."""
    desks = {name: desk for name, desk in api.desks.items() if desk.owner_sign_ins.reads_metrics(token)}
    if not desks:
        api.home.refuse("", "sign-in", "sign-in", "metrics")
        raise Refusal("sign-in", "this is no token that reads the metrics, or it has ended: make a new one")
    return desks
