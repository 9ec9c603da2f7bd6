"""Plans, answers, baskets and suggestions: what is asked, and what it costs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from discreet.privacy import Loss
from discreet.server.connections import until_beat
from discreet.server.desk import Answered, Refusal, Ticket
from discreet.server.http._admission import AdmittedRoute
from discreet.server.http._asking import ApiOf, Asking, AskingAt, IdempotencyKey, Level, PreferHeader, asking_at
from discreet.server.http._described import basket_json, loss_json, quote_json
from discreet.server.http._encodings import ARROW, CSV, JSON, STORED, TABLES, chosen_type, encoded
from discreet.server.http._models import AnswerBody, BasketBody, PlanBody, SuggestionBody
from discreet.server.http._pending import Pending

__all__ = ["router"]

router = APIRouter(route_class=AdmittedRoute)

_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer.", "content": {JSON: {}, CSV: {}, ARROW: {}, STORED: {}}},
    202: {"description": "The question is being answered: ask Location again."},
}
_ANSWER_PATH = "/v1/answers/{}"
_TICK_SECONDS = 1.0


@router.post("/plans")
async def plan(request: Request, api: ApiOf, body: PlanBody) -> Response:
    """What a question would cost and answer, with its errors, and which answers to it exist. Costs nothing."""
    asking = await asking_at(request, api, body.source)

    def described() -> dict[str, Any]:
        quote = asking.desk.quote(asking.caller, body.to_ask())
        remaining = asking.desk.budget(asking.caller).remaining
        return quote_json(quote) | {"remaining": loss_json(remaining)}

    return JSONResponse(await api.plan(asking.caller, described))


@router.post("/answers", responses=_ANSWER)
async def answer(  # noqa: PLR0913, PLR0917 - headers each
    request: Request,
    api: ApiOf,
    body: AnswerBody,
    key: IdempotencyKey = None,
    prefer: PreferHeader = None,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Answer a question: for free where an answer exists, and else for at most `max_price`.

    What costs needs an `Idempotency-Key`. With `Prefer: respond-async` a question that costs is answered while the
    client asks `Location` again.
    """
    asking = await asking_at(request, api, body.source)
    ask, media_type = body.to_ask(), chosen_type(accept)
    if body.rehearse:
        answered = await api.run_long(asking.caller, lambda: asking.desk.rehearse(asking.caller, ask))
        return await _respond(api, asking, answered, media_type, body.level)
    max_price = None if body.max_price is None else body.max_price.to_loss()

    def paid(ticket: Ticket) -> Answered:
        return asking.desk.answer(asking.caller, ask, max_price, key=key, ticket=ticket)

    return await _bought(
        api,
        asking,
        lambda: asking.desk.answer(asking.caller, ask, probing=True),
        paid,
        _Wanted(max_price, key, prefer, media_type, body.level),
        lambda: asking.desk.quote(asking.caller, ask, earlier=False).id,
    )


@router.post("/suggestions", responses=_ANSWER)
async def suggest(
    request: Request,
    api: ApiOf,
    body: SuggestionBody,
    key: IdempotencyKey = None,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Buy bounds, keys or caps that a policy lacks about a column."""
    asking = await asking_at(request, api, body.source)
    question, media_type = body.to_question(), chosen_type(accept)
    if media_type in TABLES:
        raise Refusal("parameter", f"what is suggested is no table: ask for it as {JSON}")
    max_price = None if body.max_price is None else body.max_price.to_loss()
    return await _bought(
        api,
        asking,
        lambda: asking.desk.suggest(asking.caller, question, probing=True),
        lambda ticket: asking.desk.suggest(asking.caller, question, max_price, key=key, ticket=ticket),
        _Wanted(max_price, key, None, media_type, 0.95),
        lambda: None,
    )


@router.post("/baskets")
async def basket(request: Request, api: ApiOf, body: BasketBody, key: IdempotencyKey = None) -> Response:
    """Several questions at one price: with `plan` what they would cost, else their answers, all or none affordable."""
    asking = await asking_at(request, api, body.source)
    if any(each.source is not None and api.desks.get(each.source) is not asking.desk for each in body.questions):
        raise Refusal("parameter", "all questions of a basket are asked at one source: name it beside `questions`")
    asks = [each.to_ask() for each in body.questions]
    quotes = await api.plan(asking.caller, lambda: asking.desk.quote_all(asking.caller, asks))
    if body.plan:
        return JSONResponse(basket_json(quotes))
    max_price = None if body.max_price is None else body.max_price.to_loss()
    if quotes.price is not None and max_price is not None:
        _check_key(key, quotes.price)
    answers = await api.buy(asking, lambda: asking.desk.answer_all(asking.caller, asks, max_price, key=key))
    content = [_in_basket(each, ask.level) for each, ask in zip(answers, asks, strict=True)]
    return JSONResponse({"answers": content})


@router.get("/answers/{plan_hash}", responses=_ANSWER)
async def answer_again(
    api: ApiOf, asking: AskingAt, plan_hash: str, level: Level = 0.95, accept: Annotated[str | None, Header()] = None
) -> Response:
    """An answer that the account has, or that the shelf holds; 202 while it is being drawn."""
    pending = api.pending.get(_name(api, asking, plan_hash))
    if pending is not None and pending.ended is None:
        return _accepted(plan_hash, pending)
    try:
        answered = await api.serve(asking, lambda: asking.desk.answer_by_id(asking.caller, plan_hash))
    except Refusal as refusal:
        if refusal.kind != "unknown":
            raise
        if pending is not None and pending.refusal is not None:
            raise pending.refusal from None
        if await api.run(asking.desk.is_answering, asking.caller, plan_hash):
            return _accepted(plan_hash, None)
        await until_beat(asking.desk.beat)  # it may have failed just now
        raise
    return await _respond(api, asking, answered, chosen_type(accept), level)


@router.delete("/answers/{plan_hash}", status_code=204)
async def cancel(api: ApiOf, asking: AskingAt, plan_hash: str) -> Response:
    """Cancel a question that is being answered. What was charged for it stays charged."""
    pending = api.pending.get(_name(api, asking, plan_hash))
    if pending is None or pending.ended is not None:
        raise Refusal("unknown", "no question of this name is being answered; what was answered stays")
    pending.cancel()
    return Response(status_code=204)


@router.get("/answers/{plan_hash}/events", responses={200: {"content": {"text/event-stream": {}}}})
async def events(api: ApiOf, asking: AskingAt, plan_hash: str) -> Response:
    """Server-sent events: how many seconds a question has been answered for, and that it is done. Nothing else."""
    pending = api.pending.get(_name(api, asking, plan_hash))
    if pending is None:
        raise Refusal("unknown", "no question of this name is being answered: ask for the answer itself")
    return StreamingResponse(_ticks(pending), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/answers/{plan_hash}/certificate")
async def certificate(api: ApiOf, asking: AskingAt, plan_hash: str) -> Response:
    """The certificate of an answer: what ran, signed by the ledger."""
    answered = await api.serve(asking, lambda: asking.desk.answer_by_id(asking.caller, plan_hash))
    return JSONResponse(dict(answered.release.certificate))


def _in_basket(answered: Answered, level: float) -> dict[str, Any]:
    head = {"id": answered.id, "source": answered.source, "price": loss_json(answered.price)}
    return head | {"answer": answered.release.to_dict(level)}


class _Wanted:
    """How an answer is wanted: for at most which price, under which key, at once or later, and in which form."""

    __slots__ = ("key", "level", "max_price", "media_type", "prefer")

    def __init__(
        self, max_price: Loss | None, key: str | None, prefer: str | None, media_type: str, level: float
    ) -> None:
        self.max_price, self.key, self.prefer = max_price, key, prefer
        self.media_type, self.level = media_type, level


async def _bought(  # noqa: PLR0913, PLR0917
    api: Any,
    asking: Asking,
    free: Callable[[], Answered],
    paid: Callable[[Ticket], Answered],
    wanted: _Wanted,
    name: Callable[[], str | None],
) -> Response:
    """An answer for free, or else bought: the ways in which that may go wrong without a charge come first."""
    try:
        return await _respond(api, asking, await api.serve(asking, free), wanted.media_type, wanted.level)
    except Refusal as refusal:
        if refusal.kind != "price" or wanted.max_price is None or refusal.price is None:
            raise
        _check_key(wanted.key, refusal.price)
    if wanted.prefer is not None and "respond-async" in wanted.prefer.lower():
        plan_hash = await api.plan(asking.caller, name)
        if plan_hash is not None:

            async def later(ticket: Ticket) -> None:
                await api.buy(asking, lambda: paid(ticket))

            pending = api.pending.start(_name(api, asking, plan_hash), later)
            return _accepted(plan_hash, pending)
    answered = await api.buy(asking, lambda: paid(Ticket()))
    return await _respond(api, asking, answered, wanted.media_type, wanted.level)


def _check_key(key: str | None, price: Loss) -> None:
    if key is None:
        raise Refusal(
            "missing-key",
            "this answer costs something: send an Idempotency-Key of your own, a new one for each request, so that the "
            "request can be sent again and is paid once",
            price=price,
        )


async def _respond(api: Any, asking: Asking, answered: Answered, media_type: str, level: float) -> Response:
    def written(each: Answered) -> bytes:
        return encoded(each, media_type, level)

    form = f"{media_type} {level}"
    body = await api.plan(asking.caller, lambda: asking.desk.encode(answered, form, written))
    headers = {
        "Discreet-Answer": answered.id,
        "Discreet-Source": answered.source,
        "Discreet-Price": json.dumps(loss_json(answered.price)),
        "Cache-Control": "no-store",
    }
    return Response(body, 200, headers, media_type)


def _accepted(plan_hash: str, pending: Pending | None) -> Response:
    """The answer is on its way; where there is no `pending`, to somebody who asked for it at once."""
    headers = {"Location": _ANSWER_PATH.format(plan_hash), "Retry-After": "1", "Cache-Control": "no-store"}
    return JSONResponse({"id": plan_hash, "elapsed": 0 if pending is None else pending.elapsed}, 202, headers)


def _name(api: Any, asking: Asking, plan_hash: str) -> tuple[str, str, str]:
    source = next(name for name, desk in api.desks.items() if desk is asking.desk)
    return source, f"{asking.caller.role} {asking.caller.account}", plan_hash


async def _ticks(pending: Pending) -> AsyncIterator[bytes]:
    import asyncio

    while pending.ended is None:
        yield f'event: elapsed\ndata: {{"seconds": {pending.elapsed}}}\n\n'.encode()
        try:
            await asyncio.wait_for(pending.done.wait(), _TICK_SECONDS)
        except TimeoutError:
            continue
    yield f'event: done\ndata: {{"seconds": {pending.elapsed}}}\n\n'.encode()
