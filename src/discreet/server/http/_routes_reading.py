"""What there is to read: the budget, the history, the shelf, the policy, the key, and what auditors see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from discreet.errors import LedgerError
from discreet.release import parse_release_file
from discreet.server.desk import Refusal
from discreet.server.http._admission import LARGE, AdmittedRoute
from discreet.server.http._asking import ApiOf, AskingAt
from discreet.server.http._described import budget_json, charge_json, log_json, policy_json, request_json
from discreet.server.http._models import RequestBody

__all__ = ["router"]

router = APIRouter(route_class=AdmittedRoute)

Hash = Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/sources")
async def sources(request: Request, api: ApiOf) -> Response:
    """The names of the sources at which this caller may ask."""
    names: list[str] = []
    for name, desk in api.desks.items():
        try:
            await api.caller(request, desk)
        except Refusal as refusal:
            if refusal.kind != "sign-in":
                raise
        else:
            names.append(name)
    if not names:
        raise Refusal("sign-in", "sign in to see the sources")
    return JSONResponse({"sources": names})


@router.get("/budget")
async def budget(api: ApiOf, asking: AskingAt) -> Response:
    """What the account may spend in its window, has spent, and has left."""
    return JSONResponse(budget_json(await api.run(asking.desk.budget, asking.caller)))


@router.get("/history")
async def history(api: ApiOf, asking: AskingAt, count: Count = 100) -> Response:
    """The newest charges with their questions: the account's own, or for the owner and auditors all."""
    charges = await api.run(asking.desk.history, asking.caller, count)
    mine = asking.caller.role == "analyst"
    return JSONResponse({"charges": [charge_json(each, account=not mine) for each in charges]})


@router.get("/shelf")
async def shelf(api: ApiOf, asking: AskingAt, count: Count = 100) -> Response:
    """The newest questions whose answers are free for all, where the owner shares them."""
    charges = await api.run(asking.desk.shelf, asking.caller, count)
    return JSONResponse({"answers": [charge_json(each, account=False) for each in charges]})


@router.get("/policy")
async def policy(api: ApiOf, asking: AskingAt) -> Response:
    """The public facts of the source: tables, columns, bounds, keys, and who is protected."""
    await api.run(asking.desk.check, asking.caller)
    return JSONResponse(policy_json(asking.desk.policy))


@router.get("/key")
async def key(api: ApiOf, asking: AskingAt) -> Response:
    """The public key that certificates are signed by: pin it."""
    await api.run(asking.desk.check, asking.caller)
    return JSONResponse({"public_key": asking.desk.public_key})


@router.post("/verify", openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}}})
async def verify(request: Request, api: ApiOf, asking: AskingAt) -> Response:
    """Check a release or a certificate: its signature, its digests, its loss and, for auditors, its charge."""
    payload = await request.body()
    if len(payload) > LARGE:
        raise Refusal("parameter", f"a release has at most {LARGE:,} bytes here; `discreet verify` takes more")

    def checks() -> list[dict[str, Any]]:
        try:
            file = parse_release_file(payload)
        except LedgerError as error:
            raise Refusal("parameter", str(error)) from None
        return [
            {"name": check.name, "result": check.result, "meaning": check.meaning}
            for check in asking.desk.verify(asking.caller, file)
        ]

    done = await api.plan(asking.caller, checks)
    return JSONResponse({"good": all(each["result"] != "bad" for each in done), "checks": done})


@router.get("/requests")
async def requests(api: ApiOf, asking: AskingAt) -> Response:
    """The newest requests for budget: the account's own, or for the owner and auditors all."""
    asked = await api.run(asking.desk.budget_requests, asking.caller)
    return JSONResponse({"requests": [request_json(each) for each in asked]})


@router.post("/requests", status_code=201)
async def ask_for_budget(request: Request, api: ApiOf, body: RequestBody) -> Response:
    """Ask the owner for more budget."""
    desk = api.desk(body.source)
    caller = await api.caller(request, desk)
    loss = body.spend.to_loss()
    return JSONResponse(request_json(await api.run(desk.request, caller, loss, body.reason)), 201)


@router.get("/audit/head")
async def head(api: ApiOf, asking: AskingAt) -> Response:
    """Where the ledger and the desk's log end: note both hashes where who keeps the files cannot reach."""
    return JSONResponse(await asking.audit(api, lambda auditor: auditor.head()))


@router.get("/audit/entries")
async def entries(api: ApiOf, asking: AskingAt, count: Count = 100) -> Response:
    """The newest entries of the ledger, newest first, without answers."""
    return JSONResponse({"entries": await asking.audit(api, lambda auditor: auditor.entries(count))})


@router.get("/audit/check")
async def check(
    api: ApiOf,
    asking: AskingAt,
    anchor: Annotated[Hash, Query(description="The hash of an entry of the ledger, noted before.")] = None,
    log_anchor: Annotated[Hash, Query(description="The hash of a line of the desk's log, noted before.")] = None,
) -> Response:
    """Walk the ledger's chain and the desk's log from end to end."""
    anchors, log_anchors = ({} if each is None else {"the anchor": each} for each in (anchor, log_anchor))
    return JSONResponse(await asking.audit(api, lambda auditor: auditor.check(anchors, log_anchors)))


@router.get("/audit/log")
async def log(
    api: ApiOf, asking: AskingAt, after: Annotated[int, Query(ge=-1, le=2**53)] = -1, count: Count = 100
) -> Response:
    """Lines of the desk's log: sign-ins, plans, refusals, and what the owner decided."""
    lines = await asking.audit(api, lambda auditor: auditor.log_entries(after, count))
    return JSONResponse({"lines": [log_json(each) for each in lines]})
