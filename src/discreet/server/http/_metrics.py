"""Metrics for the owner alone: counters of a closed list and what is left of budgets, as Prometheus and OpenTelemetry.

No duration, no size, no memory: rows move those, and no row moves these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.desk import ANSWERS, REFUSALS, SIGN_INS, Counters, Desk, Family

__all__ = ["METRICS_TYPE", "Metrics", "count_requests"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus's text format 0.0.4."""

_OF_DESKS = (ANSWERS, REFUSALS, SIGN_INS)
_REMAINING = "discreet_budget_remaining"
_REMAINING_OF_ACCOUNTS = "discreet_account_budget_remaining"
_MEANINGS = {
    _REMAINING: "What is left of the whole budget in its window, by parameter of its loss.",
    _REMAINING_OF_ACCOUNTS: "What is left of an account's cap in its window, by parameter of its loss.",
}
_OTHER = "other"
_STATUSES = ("2xx", "3xx", "4xx", "5xx")
_Sample = tuple[Mapping[str, str], float]


def count_requests(app: FastAPI, routers: Iterable[APIRouter], prefix: str, counters: Counters) -> Family:
    """Count each request of an application by its route and the class of its status: the family that has the counts."""
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    names = sorted(f"{method} {prefix}{route.path}" for route in routes for method in route.methods or ())
    labels = {"route": (*names, _OTHER), "status": _STATUSES}
    family = Family("discreet_requests", "Requests, by route and class of status.", labels)
    paths = {route.endpoint: f"{prefix}{route.path}" for route in routes}
    app.add_middleware(_Counting, family=family, paths=paths, counters=counters)
    return family


class _Counting:
    """Middleware that counts requests; `paths` are those of routes, by what answers there."""

    def __init__(self, app: ASGIApp, family: Family, paths: Mapping[Any, str], counters: Counters) -> None:
        self._app, self._family, self._paths, self._counters = app, family, paths, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = "5xx"

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = f"{message['status'] // 100}xx"
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            name = f"{scope['method']} {self._paths.get(scope.get('endpoint'))}"
            self._counters.add(self._family, name if (name, status) in self._family.series else _OTHER, status)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of desks, by the names of their sources, and of requests, which the first desk's file has."""

    desks: Mapping[str, Desk]
    requests: Family

    def prometheus_text(self, sources: Collection[str]) -> str:
        """The metrics of these sources and of the server: counts of all its processes."""
        chosen = {source: desk for source, desk in self.desks.items() if source in sources}
        samples = _labelled(self.requests, self._home.totals(self.requests))
        lines = _lines(f"{self.requests.name}_total", "counter", self.requests.meaning, samples)
        for family in _OF_DESKS:
            samples = _of_desks(family, chosen, lambda desk, family: desk.counters.totals(family))
            lines += _lines(f"{family.name}_total", "counter", family.meaning, samples)
        for name, meaning in _MEANINGS.items():
            lines += _lines(name, "gauge", meaning, _budgets_of_all(chosen, name))
        return "".join(f"{line}\n" for line in lines)

    @contextmanager
    def exported(self, meter: Meter | None = None) -> Generator[None]:
        """Export the same by OpenTelemetry while the block runs, where the process has an exporter; else do nothing.

        What each process exports it has counted itself.
        """
        meter = metrics.get_meter("discreet") if meter is None else meter
        running = True

        def observe(samples: Callable[[], Iterable[_Sample]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
            return lambda _: [Observation(value, dict(labels)) for labels, value in samples()] if running else []

        requests = observe(lambda: _labelled(self.requests, self._home.own(self.requests)))
        meter.create_observable_counter(self.requests.name, [requests], description=self.requests.meaning)
        for family in _OF_DESKS:
            counts = observe(partial(_of_desks, family, self.desks, lambda desk, family: desk.counters.own(family)))
            meter.create_observable_counter(family.name, [counts], description=family.meaning)
        for name, meaning in _MEANINGS.items():
            budgets = observe(partial(_budgets_of_all, self.desks, name))
            meter.create_observable_gauge(name, [budgets], description=meaning)
        try:
            yield
        finally:
            running = False

    def save(self) -> None:
        """Add what this process has counted to the desks' files, for the other processes to show."""
        for desk in self.desks.values():
            with suppress(Exception):  # a full disk: it is added next time
                desk.counters.flush()

    @property
    def _home(self) -> Counters:
        return next(iter(self.desks.values())).counters


def _of_desks(
    family: Family, desks: Mapping[str, Desk], counts: Callable[[Desk, Family], Mapping[tuple[str, ...], int]]
) -> Iterator[_Sample]:
    for source, desk in desks.items():
        for labels, value in _labelled(family, counts(desk, family)):
            yield {"source": source, **labels}, value


def _labelled(family: Family, counts: Mapping[tuple[str, ...], int]) -> Iterator[_Sample]:
    for values, count in counts.items():
        yield dict(zip(family.labels, values, strict=True)), count


def _budgets_of_all(desks: Mapping[str, Desk], name: str) -> Iterator[_Sample]:
    for source, desk in desks.items():
        yield from _budgets(source, desk, name)


def _budgets(source: str, desk: Desk, name: str) -> Iterator[_Sample]:
    """What is left of the whole, or of each account that spends, by the parameters of its currency."""
    for account in desk.owner().budgets():
        if (account["name"] == "") != (name == _REMAINING) or "remaining" not in account:
            continue
        labels = {"source": source} if name == _REMAINING else {"source": source, "account": str(account["name"])}
        for parameter, value in account["remaining"].items():
            if parameter != "kind" and isinstance(value, str):
                yield {**labels, "parameter": parameter}, float(Fraction(value))


def _lines(name: str, kind: str, meaning: str, samples: Iterable[_Sample]) -> list[str]:
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        text = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
        lines.append(f"{name}{{{text}}} {value!r}")
    return lines


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
