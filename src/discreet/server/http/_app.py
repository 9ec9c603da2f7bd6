"""The application: routes of `/v1` on a desk for each source."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet.server.desk import Buckets, Caller, Desk, Refusal, refusal_of
from discreet.server.http._options import ApiOptions
from discreet.server.http._pending import PendingAnswers
from discreet.server.http._problems import PROBLEM_RESPONSES, problem_of
from discreet.server.http._sign_ins import SignIns

__all__ = ["Api", "create_app"]

_T = TypeVar("_T")
_THREADS = 64


class Api:
    """What all routes share: the desks by their names, who signs in, how fast, and the threads that desks work in."""

    def __init__(self, desks: Mapping[str, Desk], options: ApiOptions, sign_ins: SignIns) -> None:
        self.desks, self.options, self.sign_ins = dict(desks), options, sign_ins
        self.pending = PendingAnswers()
        self._threads = ThreadPoolExecutor(_THREADS, "desk")
        self._accounts = Buckets(options.account_rate, options.account_burst)
        self._addresses = Buckets(options.address_rate, options.address_burst)

    def desk(self, source: str | None) -> Desk:
        """The desk of a source, or the only one. Raises `Refusal`."""
        if source is None and len(self.desks) == 1:
            return next(iter(self.desks.values()))
        if source is None or source not in self.desks:
            raise Refusal("unknown", f"say which source: one of {', '.join(sorted(self.desks))}")
        return self.desks[source]

    async def caller(self, request: Request, desk: Desk) -> Caller:
        """Who sends a request. Raises `Refusal`: "rate" where too many come, "sign-in" for nobody."""
        self.check_address(request)
        authorization = request.headers.get("authorization")
        caller = self.sign_ins.remembered(desk, authorization)
        if caller is None:
            caller = await self.run(self.sign_ins.caller, desk, authorization)
        _check_rate(self._accounts, f"{caller.role} {caller.account}")
        return caller

    def check_address(self, request: Request) -> None:
        """Raise `Refusal` ("rate") where too many requests come from one address."""
        _check_rate(self._addresses, "" if request.client is None else request.client.host)

    async def run(self, act: Callable[..., _T], *arguments: Any) -> _T:
        """Run something of a desk's in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: act(*arguments))

    async def until_beat(self) -> None:
        """Wait for the next whole beat, if there are any."""
        beat = self.options.beat
        if beat is not None:
            await asyncio.sleep(beat - time.time() % beat)

    async def finish(self) -> None:
        """Wait for what is being answered."""
        await self.pending.finish()
        self._threads.shutdown()


def _check_rate(buckets: Buckets, name: str) -> None:
    wait = buckets.take(name)
    if wait:
        raise Refusal("rate", "too many requests: send fewer, or wait as long as Retry-After says", wait=wait)


def create_app(
    desks: Mapping[str, Desk],
    options: ApiOptions | None = None,
    sign_ins: SignIns | None = None,
    on_failure: Callable[[BaseException], object] = lambda _error: None,
) -> FastAPI:
    """The ASGI application over desks by the names of their sources. Whoever calls this closes the desks.

    `on_failure` is called with what no route expected: a bug, which is answered without a word of it.
    """
    from discreet.server.http import _routes_answers, _routes_owner, _routes_reading

    api = Api(desks, options or ApiOptions(), sign_ins or SignIns())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
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
    )
    app.state.api = api
    for routes in (_routes_answers, _routes_reading, _routes_owner):
        app.include_router(routes.router, prefix="/v1")
    _handle_errors(app, api, on_failure)
    return app


def _handle_errors(app: FastAPI, api: Api, on_failure: Callable[[BaseException], object]) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, DiscreetError)
        refusal = refusal_of(error)
        if refusal.kind == "sign-in":
            for desk in api.desks.values():
                api.sign_ins.forget(desk, request.headers.get("authorization"))
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
        on_failure(error)
        return problem_of(
            Refusal("data", "the server failed at this request, which is a bug; what was charged stays spent"),
            status=500,
        )

    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(DiscreetError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http_error)
