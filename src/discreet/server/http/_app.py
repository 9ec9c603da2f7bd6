"""The application: routes of `/v1` on a desk for each source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet.server.connections import Bus, until_beat
from discreet.server.desk import REFUSALS, Answered, Buckets, Caller, Desk, RecentlyUsed, Refusal, refusal_of
from discreet.server.http._admission import AddressRate, check_rate
from discreet.server.http._asgi import ClientGone
from discreet.server.http._metrics import Metrics, count_requests
from discreet.server.http._options import ApiOptions
from discreet.server.http._pending import PendingAnswers
from discreet.server.http._problems import PROBLEM_RESPONSES, problem_of
from discreet.server.http._routes_sign_in import SESSION_COOKIE
from discreet.server.http._sign_ins import Credentials, SignIns

if TYPE_CHECKING:
    from discreet.server.http._asking import Asking
    from discreet.server.http.identity import CodeFlow, OidcOptions, Provider

__all__ = ["Api", "create_app"]

_T = TypeVar("_T")
_PREFIX = "/v1"
_THREADS, _READERS = 64, 16
_AT_ONCE = 8
"""Paid questions of one account that are answered at once, and what else it asks; the others wait for their turn."""
_MOST_ACCOUNTS = 10_000
_MOST_EXCHANGES = 8
_PROVIDER_SECONDS = 2.0
_SAVE_SECONDS = 5.0
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's own would export durations, sizes and stack traces, which hang on the data."""


class Api:
    """What all routes share: the desks by their names, who signs in, how fast, and the threads that desks work in."""

    metrics: Metrics

    def __init__(self, desks: Mapping[str, Desk], options: ApiOptions, oidc: OidcOptions | None, bus: Bus) -> None:
        self.desks, self.options = dict(desks), options
        self.home = next(iter(desks.values()))
        self.provider, self.flow, self.sign_ins = _identified(oidc, self.home)
        self.exchanges = asyncio.Semaphore(_MOST_EXCHANGES)
        self.pending = PendingAnswers(bus)
        self._readers = ThreadPoolExecutor(_READERS, "desk, reads")
        self._planners = ThreadPoolExecutor(_THREADS, "desk, plans")
        self._buyers = ThreadPoolExecutor(_THREADS, "desk, paid")
        self._planning = RecentlyUsed[asyncio.Semaphore](_MOST_ACCOUNTS)
        self._buying = RecentlyUsed[asyncio.Semaphore](_MOST_ACCOUNTS)
        self._accounts = Buckets(options.account_rate, options.account_burst)
        self.addresses = Buckets(options.address_rate, options.address_burst)

    def desk(self, source: str | None) -> Desk:
        """The desk of a source, or the only one. Raises `Refusal`."""
        if source is None and len(self.desks) == 1:
            return next(iter(self.desks.values()))
        if source is None or source not in self.desks:
            raise Refusal("unknown", "say which source: `GET /v1/sources` lists those at which you may ask")
        return self.desks[source]

    async def caller(self, request: Request, desk: Desk) -> Caller:
        """Who sends a request. Raises `Refusal`: "rate" where too many come, "sign-in" for nobody."""
        admitted: dict[Desk, Caller] = getattr(request.state, "admitted", {})
        caller = admitted.get(desk)
        if caller is None:
            shown = self._shown(request)
            caller = self.sign_ins.remembered(desk, shown) or await self.run(self.sign_ins.caller, desk, shown)
            request.state.asking = (desk, caller.account)
            if shown.session is not None:
                self.check_same_site(request)
            check_rate(self._accounts, f"{caller.role} {caller.account}")
            request.state.admitted = {**admitted, desk: caller}
        request.state.asking = (desk, caller.account)
        return caller

    async def admit(self, request: Request) -> None:
        """See that somebody sends a request, at whichever desk: which one it is for may be in its body.

        Raises `Refusal` as `caller`.
        """
        named, shown = self.desks.get(request.query_params.get("source", "")), self._shown(request)
        desks = sorted(
            self.desks.values(), key=lambda desk: (desk is not named, self.sign_ins.remembered(desk, shown) is None)
        )
        for desk in desks[:-1]:
            try:
                await self.caller(request, desk)
            except Refusal as refusal:
                if refusal.kind != "sign-in":
                    raise
            else:
                return
        await self.caller(request, desks[-1])

    def _shown(self, request: Request) -> Credentials:
        authorization = request.headers.get("authorization")
        session = None if authorization is not None or self.flow is None else request.cookies.get(SESSION_COOKIE)
        return Credentials(authorization, session)

    def check_same_site(self, request: Request) -> None:
        """Raise `Refusal` ("role") for a request by a session, unless it changes nothing or our own pages sent it.

        A page of another site can make a browser send its cookies, but neither this header nor this origin.
        """
        if request.method in _SAFE_METHODS:
            return
        origin = None if self.provider is None else self.provider.options.public_url
        if request.headers.get("discreet-request") != "1" or request.headers.get("origin") != origin:
            raise Refusal(
                "role",
                "by a session, this is taken from this server's own origin alone, with the header Discreet-Request: 1; "
                "programs send an Authorization header instead",
            )

    def begin_session(self, account: str, previous: str | None) -> str:
        """The secret of a new session, if any desk has the account. Raises `Refusal` ("sign-in")."""
        refusal: Refusal | None = None
        for desk in self.desks.values():
            try:
                desk.admit(account, "browser")
            except Refusal as error:
                refusal = error
            else:
                return self.home.browser_sign_ins.begin_session(account, previous)
        raise refusal or Refusal("sign-in", "there is no source here")

    async def refused(self, request: Request, refusal: Refusal) -> None:
        """Log and count a refusal that no desk has, of somebody who is signed in; and look them up again next time."""
        if refusal.kind == "sign-in":
            for desk in self.desks.values():
                self.sign_ins.forget(desk, self._shown(request))
        asking: tuple[Desk, str] | None = getattr(request.state, "asking", None)
        if refusal.logged or asking is None:
            return
        desk, account = asking
        if refusal.kind == "rate":
            desk.counters.add(REFUSALS, refusal.kind)
        else:
            await self.run(desk.refuse, account, "refusal", refusal.kind)

    async def run_long(self, caller: Caller, act: Callable[[], _T]) -> _T:
        """Run something that may take long in a thread: no account has all of these, and no quick request waits."""
        async with _turn(self._buying, caller):
            return await asyncio.get_running_loop().run_in_executor(self._buyers, act)

    async def buy(self, asking: Asking, act: Callable[[], _T]) -> _T:
        """As `run_long`, for what may cost: what comes of it goes on at a beat, and frees its place then."""
        async with _turn(self._buying, asking.caller):
            try:
                bought = await asyncio.get_running_loop().run_in_executor(self._buyers, act)
            except Exception as error:
                if not isinstance(error, Refusal) or error.kind != "price":
                    await until_beat(asking.desk.beat)
                raise
            await until_beat(asking.desk.beat)
            return bought

    async def plan(self, caller: Caller, act: Callable[[], _T]) -> _T:
        """Run what plans, or writes an answer, in a thread: no account has all of these either."""
        async with _turn(self._planning, caller):
            return await asyncio.get_running_loop().run_in_executor(self._planners, act)

    async def serve(self, asking: Asking, act: Callable[[], Answered]) -> Answered:
        """An answer that is there, unless it came so lately that it leaves at the next beat."""
        answered = await self.plan(asking.caller, act)
        if answered.is_held:
            await until_beat(asking.desk.beat)
        return answered

    async def run(self, act: Callable[..., _T], *arguments: Any) -> _T:
        """Run what takes no time, as a sign-in or a look at a budget, in a thread that no plan waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: act(*arguments))

    async def finish(self) -> None:
        """Wait for what is being answered."""
        await self.pending.finish()
        self._readers.shutdown()
        self._planners.shutdown()
        self._buyers.shutdown()


def _turn(turns: RecentlyUsed[asyncio.Semaphore], caller: Caller) -> asyncio.Semaphore:
    return turns.get(f"{caller.role} {caller.account}", lambda: asyncio.Semaphore(_AT_ONCE))


def _identified(oidc: OidcOptions | None, home: Desk) -> tuple[Provider | None, CodeFlow | None, SignIns]:
    """The provider that an owner configured, how browsers sign in there, and who is signed in."""
    if oidc is None:
        return None, None, SignIns()
    from discreet.server.http.identity import CodeFlow, Provider, account_by_bearer

    provider, sessions = Provider(oidc), home.browser_sign_ins
    if oidc.public_url is None:
        return provider, None, SignIns(account_by_bearer(provider))
    return provider, CodeFlow(provider, sessions), SignIns(account_by_bearer(provider), sessions)


def create_app(
    desks: Mapping[str, Desk],
    options: ApiOptions | None = None,
    oidc: OidcOptions | None = None,
    on_failure: Callable[[BaseException], object] = lambda _error: None,
    bus: Bus | None = None,
) -> FastAPI:
    """The ASGI application over desks by the names of their sources. Whoever calls this closes the desks.

    `on_failure` is called with what no route expected: a bug, which is answered without a word of it. By a `bus`
    other workers of the server hear what this one answers.
    """
    from discreet.server.http import _routes_answers, _routes_owner, _routes_reading, _routes_sign_in

    api = Api(desks, options or ApiOptions(), oidc, bus or Bus())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        background = [asyncio.create_task(_save_counters(api))]
        if api.provider is not None:
            background.append(asyncio.create_task(_read_provider(api, api.provider)))
            await asyncio.wait(background[1:], timeout=_PROVIDER_SECONDS)
        with api.metrics.exported():
            yield
        for task in background:
            task.cancel()
        await api.finish()

    app = FastAPI(
        title="discreet",
        version="1",
        summary="Differential privacy at one desk: plans, prices, answers with error bars, and the ledger of all.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
        responses=PROBLEM_RESPONSES,
        separate_input_output_schemas=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.api = api
    routers = [each.router for each in (_routes_answers, _routes_reading, _routes_owner, _routes_sign_in)]
    for router in routers:
        app.include_router(router, prefix=_PREFIX)
    app.add_middleware(AddressRate, buckets=api.addresses)
    api.metrics = Metrics(api.desks, count_requests(app, routers, _PREFIX, api.home.counters))
    _handle_errors(app, api, on_failure)
    return app


def _handle_errors(app: FastAPI, api: Api, on_failure: Callable[[BaseException], object]) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, DiscreetError)
        refusal = refusal_of(error)
        await api.refused(request, refusal)
        return problem_of(refusal)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str | int))
        return problem_of(Refusal("parameter", f"{place[:200] or 'the request'}: {first['msg'][:200]}"))

    async def http_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return problem_of(Refusal("unknown", "there is no such path: /v1/openapi.json lists those that there are"))
        return problem_of(Refusal("parameter", str(error.detail)), status=error.status_code, headers=error.headers)

    async def failed(_: Request, error: Exception) -> Response:
        if not isinstance(error, ClientGone):
            on_failure(error)
        return problem_of(
            Refusal("data", "the server failed at this request, which is a bug; what was charged stays spent"),
            status=500,
        )

    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(DiscreetError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)


async def _save_counters(api: Api) -> None:
    while True:
        await asyncio.sleep(_SAVE_SECONDS)
        await api.run(api.metrics.save)


async def _read_provider(api: Api, provider: Provider) -> None:
    """Read the provider's keys when the server starts. If that fails, the first token asks again."""
    from discreet.server.http.identity import ProviderFailed

    with suppress(ProviderFailed):
        await api.run(provider.refresh)
