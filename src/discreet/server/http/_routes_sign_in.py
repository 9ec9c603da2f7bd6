"""The owner signs in by a code; browsers sign in by the identity provider, and sign out."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from discreet.server.desk import FLOW_SECONDS, SESSION_SECONDS, Refusal
from discreet.server.http._admission import OpenRoute
from discreet.server.http._asking import ApiOf
from discreet.server.http._models import CodeBody
from discreet.server.http._sign_ins import OWNER_TOKEN, refused_identity

__all__ = ["FLOW_COOKIE", "SESSION_COOKIE", "router"]

router = APIRouter(route_class=OpenRoute)

SESSION_COOKIE = "__Host-discreet"
FLOW_COOKIE = "__Host-discreet-flow"
"""Sent when the provider redirects a browser here, which a cookie that is strictly of the same site is not."""

_NOT_CONFIGURED = "browsers cannot sign in here: no identity provider is configured for them"
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Signed in</title>'
    "<p>You are signed in. You may close this page.</p></html>"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PARAMETERS = ("state", "code", "iss", "error")


@router.post("/owner/sign-in")
async def sign_in_owner(api: ApiOf, body: CodeBody) -> Response:
    """Exchange the code that the server printed, once, for a token of the owner's."""
    try:
        token = await api.run(api.home.owner_sign_ins.exchange, body.code)  # one source decides which request is first
    except Refusal as refusal:
        await api.run(api.home.refuse, "", "sign-in", refusal.kind, "code")
        refusal.logged = True
        raise
    for desk in api.desks.values():
        with suppress(Refusal):
            await api.run(desk.owner_sign_ins.exchange, body.code, token)
    return JSONResponse({"token": f"{OWNER_TOKEN}{token}"}, headers={"Cache-Control": "no-store"})


@router.get("/sign-in", status_code=303, response_class=RedirectResponse)
async def sign_in(api: ApiOf) -> Response:
    """Send a browser to the identity provider, from which it comes back to `/v1/sign-in/callback`."""
    flow = _flow_of(api)
    from discreet.server.http.identity import ProviderFailed

    try:
        started = await api.run(flow.start)
    except ProviderFailed as error:
        raise refused_identity(api.home, error) from None
    answer = RedirectResponse(started.location, 303, headers=_HEADERS)
    _set_cookie(answer, FLOW_COOKIE, started.browser, FLOW_SECONDS, "lax")
    return answer


@router.get("/sign-in/callback", response_class=HTMLResponse)
async def callback(api: ApiOf, request: Request) -> Response:
    """Take a browser back from the identity provider: its code is exchanged, once, and a session begins."""
    flow = _flow_of(api)
    from discreet.server.http.identity import ProviderFailed, Refused

    given = request.query_params
    if any(len(given.getlist(name)) > 1 for name in _PARAMETERS):  # RFC 6749, 3.1
        raise Refusal("parameter", "a parameter of the identity provider's answer is there twice: sign in again")
    parameters = {name: given[name] for name in _PARAMETERS if name in given}
    browser, previous = request.cookies.get(FLOW_COOKIE), request.cookies.get(SESSION_COOKIE)

    def signed_in() -> str:
        try:
            account = flow.finish(parameters, browser).account
        except (Refused, ProviderFailed) as error:
            raise refused_identity(api.home, error) from None
        return api.begin_session(account, previous)

    async with api.exchanges:
        secret = await api.run(signed_in)
    answer = HTMLResponse(_PAGE, headers=_HEADERS)
    _set_cookie(answer, SESSION_COOKIE, secret, SESSION_SECONDS, "strict")
    _set_cookie(answer, FLOW_COOKIE, "", 0, "lax")
    return answer


@router.post("/sign-out", status_code=204)
async def sign_out(api: ApiOf, request: Request) -> Response:
    """End the session of a browser."""
    flow = _flow_of(api)
    session = request.cookies.get(SESSION_COOKIE)
    if session is None:
        raise Refusal("sign-in", "there is no session to end")
    api.check_same_site(request)
    account = await api.run(flow.sign_ins.end_session, session)
    if account is not None:
        await api.run(api.home.log.append, "sign-out", account)
    answer = Response(status_code=204, headers=_HEADERS)
    _set_cookie(answer, SESSION_COOKIE, "", 0, "strict")
    return answer


def _flow_of(api: Any) -> Any:
    if api.flow is None:
        raise Refusal("unknown", _NOT_CONFIGURED)
    return api.flow


def _set_cookie(answer: Response, name: str, value: str, seconds: int, same_site: Any) -> None:
    """A cookie that no script, no other host and no plain connection can read (RFC 6265bis, 4.1.3.2)."""
    answer.set_cookie(name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite=same_site)
