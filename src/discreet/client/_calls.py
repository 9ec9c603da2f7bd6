"""The questions of a session as calls: what each sends, and what it makes of the answers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from discreet.client._answers import Budget, Charge, RemotePlan, read
from discreet.client._signer import Signer, read_release
from discreet.client._steps import JSON, STORED, Call, HttpReply, HttpRequest, Wait, exchange, json_of
from discreet.errors import DataError, LedgerError, ParameterError
from discreet.noise import secret
from discreet.privacy import Loss, from_json, to_json
from discreet.query import Release, Suggestion
from discreet.release import BaseRelease

__all__ = ["Calls", "Number"]

_R = TypeVar("_R", bound=BaseRelease)
Number = int | float | str
"""An exact number: a float stands for the decimal that it is written as, text for itself."""

_LOCATION = re.compile(r"/v1/(answers/[0-9a-zA-Z_-]{1,128})")
_KEY = re.compile(r"[!-~]{1,128}")
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0
_SLOW_STATUS = 202


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls to one source, whose answers are checked by one signer, and awaited for so many seconds."""

    source: str | None
    signer: Signer
    timeout: float = 600.0

    def plan(  # noqa: PLR0913
        self,
        query: object,
        spend: Loss | None,
        error: Mapping[str, Number] | None,
        level: float,
        assume: Mapping[str, int] | None,
        *,
        bias: bool,
        dialect: str,
    ) -> Call[RemotePlan]:
        """What a question would cost."""
        body = self._question(query, spend, bias=bias, dialect=dialect)
        more = {"error": None if error is None else {name: str(half) for name, half in error.items()}}
        body |= {**more, "level": level, "assume": None if assume is None else dict(assume)}
        reply = yield from exchange(_post("plans", body))
        return read(json_of(reply), RemotePlan.from_dict)

    def sql(  # noqa: PLR0913
        self,
        query: object,
        spend: Loss | None,
        *,
        max_price: Loss | None,
        bias: bool,
        dialect: str,
        idempotency_key: str | None,
    ) -> Call[Release]:
        """An answer, for at most a price."""
        most = spend if max_price is None else max_price
        body = self._question(query, spend, bias=bias, dialect=dialect)
        body["max_price"] = None if most is None else to_json(most)
        reply = yield from self._answered(_post("answers", body, STORED, _checked_key(idempotency_key)))
        release = read_release(reply.content, Release, self.signer)
        if spend is not None and not read(release.certificate, lambda content: from_json(content["loss"])).fits(spend):
            raise LedgerError("the server's answer was released at another loss than was asked for")
        return release

    def rehearse(self, query: object, spend: Loss | None, *, bias: bool, dialect: str) -> Call[Release]:
        """An answer on made-up rows."""
        body = self._question(query, spend, bias=bias, dialect=dialect) | {"rehearse": True}
        reply = yield from exchange(_post("answers", body, STORED))
        release = read_release(reply.content, Release, None)
        if reply.headers.get("discreet-source") != "rehearsal" or "rehearsal" not in release.certificate:
            raise LedgerError("a rehearsal was asked for, and the server's answer is not marked as one")
        return release

    def suggest(
        self, table: str, column: str, spend: Loss, *, keys: bool, idempotency_key: str | None
    ) -> Call[Suggestion]:
        """Bounds, keys or caps."""
        body = {"table": table, "column": column, "spend": to_json(spend), "max_price": to_json(spend), "keys": keys}
        request = _post("suggestions", body | {"source": self.source}, STORED, _checked_key(idempotency_key))
        reply = yield from self._answered(request)
        return read_release(reply.content, Suggestion, self.signer)

    def budget(self) -> Call[Budget]:
        """What is left."""
        reply = yield from exchange(self._get("budget"))
        return read(json_of(reply), Budget.from_dict)

    def history(self, count: int) -> Call[tuple[Charge, ...]]:
        """The newest charges."""
        return (yield from self._charges("history", "charges", count))

    def shelf(self, count: int) -> Call[tuple[Charge, ...]]:
        """The newest answers that are shared."""
        return (yield from self._charges("shelf", "answers", count))

    def public_key(self) -> Call[str]:
        """The key that the server says signs, once it is the one that is expected."""
        reply = yield from exchange(self._get("key"))
        key = json_of(reply).get("public_key")
        if not isinstance(key, str) or not re.fullmatch(r"[0-9a-f]{64}", key):
            raise LedgerError("the server names no key: its ledger signs no certificates, or it is no discreet server")
        self.signer.accept(key)
        return key

    def _charges(self, path: str, name: str, count: int) -> Call[tuple[Charge, ...]]:
        reply = yield from exchange(self._get(path, count=str(count)))
        return read(json_of(reply), lambda content: tuple(Charge.from_dict(each) for each in content[name]))

    def _answered(self, request: HttpRequest) -> Call[HttpReply]:
        """The answer, in whichever way the server gives it: at once, or where it says, later."""
        began = time.monotonic()
        reply = yield from exchange(request)
        pause = _FIRST_PAUSE
        while reply.status == _SLOW_STATUS:
            if time.monotonic() - began > self.timeout:
                raise DataError(
                    f"the server still works on the answer after {self.timeout:g} seconds; its cost stays charged, "
                    "and the same question is free once it is answered: ask again, or connect with a longer timeout"
                )
            location = _LOCATION.fullmatch(reply.headers.get("location", "")) if reply.headers.get("location") else None
            if location is not None:
                request = self._get(location[1], STORED)
            elif request.method != "GET":
                raise LedgerError("the server answers later, and does not say where")
            yield Wait(pause)
            pause = min(2 * pause, _LAST_PAUSE)
            reply = yield from exchange(request)
        return reply

    def _question(self, query: object, spend: Loss | None, *, bias: bool, dialect: str) -> dict[str, Any]:
        if not isinstance(query, str):
            raise ParameterError("a query to a server is SQL text")
        spent = None if spend is None else to_json(spend)
        return {"query": query, "source": self.source, "spend": spent, "bias": bias, "dialect": dialect}

    def _get(self, path: str, accept: str = JSON, **parameters: str) -> HttpRequest:
        source = {} if self.source is None else {"source": self.source}
        return HttpRequest("GET", path, None, {"Accept": accept}, {**source, **parameters})


def _post(path: str, body: Mapping[str, Any], accept: str = JSON, key: str | None = None) -> HttpRequest:
    headers = {"Accept": accept, "Content-Type": JSON} | ({} if key is None else {"Idempotency-Key": key})
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return HttpRequest("POST", path, json.dumps(given, allow_nan=False).encode(), headers)
    except (TypeError, ValueError):
        raise ParameterError("what is asked must be plain text, numbers and losses") from None


def _checked_key(given: str | None) -> str:
    """The key that was given, or a new one, under which a request is paid once however often it is sent."""
    if given is None:
        return secret(16).hex()
    if not _KEY.fullmatch(given):
        raise ParameterError("idempotency_key has 1 to 128 visible ASCII characters")
    return given
