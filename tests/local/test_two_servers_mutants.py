"""Likely mistakes, each patched into the real code of two servers: the checks of this folder find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prio3_laws import FORGERIES, accepted, forged
from two_server_laws import COUNT, HISTOGRAM, KEY, SCHEMES, both, exchange, turned

from discreet.local import ShareServer
from discreet.local.two_servers.prio3 import NONCE, Histogram, Prio3, Sum
from discreet.local.two_servers.prio3._circuit import Circuit
from discreet.local.two_servers.prio3._field import Field
from discreet.local.two_servers.prio3._field64 import Field64
from discreet.local.two_servers.prio3._proof import Proofs
from discreet.mechanisms import DiscreteLaplace

Patch = Callable[[pytest.MonkeyPatch], None]


def nothing_forged_is_accepted() -> bool:
    return not any(forged(circuit, forgeries, times=1).any() for circuit, forgeries in FORGERIES)


def honest_reports_are_accepted() -> bool:
    return all(bool(accepted(scheme.prio3, np.arange(size))[0].all()) for scheme, size in SCHEMES)


def every_bit_counts() -> bool:
    generator = np.random.default_rng(1)
    for scheme, size in SCHEMES:
        for index in (0, 1):
            servers, reports = both(scheme), list(scheme.client().encode(np.arange(400) % size))
            reports[index] = turned(reports[index], generator, NONCE)
            exchange(servers, (reports[0], reports[1]))
            if any(server.reports for server in servers):
                return False
    return True


def reports_count_once() -> bool:
    servers, reports = both(COUNT), COUNT.client().encode([1])
    for _ in range(2):
        exchange(servers, reports)
    field = COUNT.circuit.field
    return field.numbers(field.add(servers[0]._sum, servers[1]._sum)) == [1]


def both_servers_add_noise() -> bool:
    servers = both(HISTOGRAM)
    exchange(servers, HISTOGRAM.client().encode([0, 1, 2, 3] * 10))
    field = HISTOGRAM.circuit.field
    for index, server in enumerate(servers):
        clean, state = field.numbers(server._sum), bytes(server)
        again = [HISTOGRAM.server(index, KEY, state).publish().values for _ in range(20)]  # all 0: below 1e-9
        noise = np.array([[a - b for a, b in zip(values, clean, strict=True)] for values in again], dtype=object)
        if not all(noise.any(axis=0)):
            return False
    return True


def proofs_hide_at_their_own_points() -> bool:
    proofs = Proofs(Sum(7))
    queries = np.ones((1, proofs.queries, 1), dtype=np.uint64)
    return bool(proofs.revealing(queries)[0])


def elements_are_below_the_modulus() -> bool:
    field = Field64()
    return not field.decode(np.full((1, 8), 255, dtype=np.uint8))[1].any()


def shares_are_masked() -> bool:
    first, _ = COUNT.client().encode([1, 1])
    value = first.rows[:, NONCE : NONCE + 8]
    return not (value[0] == value[1]).all()


CHECKS = (
    nothing_forged_is_accepted,
    honest_reports_are_accepted,
    every_bit_counts,
    reports_count_once,
    both_servers_add_noise,
    proofs_hide_at_their_own_points,
    elements_are_below_the_modulus,
    shares_are_masked,
)


def attribute(owner: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def always(shape: Callable[..., int]) -> Callable[[Any], Any]:
    return lambda _: lambda *given: np.ones(shape(*given), dtype=np.bool_)


MUTANTS: dict[str, Patch] = {
    "decide looks at nothing": attribute(Proofs, "decide", always(lambda _, verifiers: len(verifiers))),
    "decide looks at the gadget alone": attribute(
        Proofs, "decide", lambda real: lambda self, v: real(self, np.concatenate((v[:, :1] * 0, v[:, 1:]), axis=1))
    ),
    "decide looks at the output alone": attribute(
        Proofs, "decide", lambda _: lambda self, v: (v[:, 0] == 0).all(axis=1)
    ),
    "no check that one place is taken": attribute(
        Histogram, "checked", lambda real: lambda *given: real(*given) * np.array([[[1], [0]]], dtype=np.uint64)
    ),
    "outputs are all summed with the same weight": attribute(
        Proofs,
        "query",
        lambda real: (
            lambda self, e, p, q, j: real(
                self, e, p, np.concatenate((q[:, :-1] * 0 + np.array([1, 0][: q.shape[2]], "u8"), q[:, -1:]), axis=1), j
            )
        ),
    ),
    "joint randomness is not compared, nor one's own part": lambda patch: (
        patch.setattr(Prio3, "verify_next", lambda self, verified, message: verified.good),
        patch.setattr(ShareServer, "check", unchecked(ShareServer.check)),
    )[0],
    "nonces are forgotten": attribute(
        ShareServer, "_fresh", lambda real: lambda self, rows: (real(self, rows), rows)[1]
    ),
    "one server adds no noise": attribute(
        ShareServer,
        "publish",
        lambda real: lambda self: real(self) if self._index else quiet(real, self),
    ),
    "points may be anywhere": attribute(
        Proofs, "revealing", lambda _: lambda self, queries: np.zeros(len(queries), dtype=np.bool_)
    ),
    "elements may be anything": attribute(
        Field, "decode", lambda real: lambda self, rows: (real(self, rows)[0], np.ones(len(rows), dtype=np.bool_))
    ),
    "shares are not masked": attribute(Prio3, "_expanded", lambda real: lambda self, keys: zero(real(self, keys))),
    "sums are taken without the half of the constant": attribute(
        Circuit, "gadget", lambda real: lambda self, wires: self.field.add(real(self, wires), self.field.element(1))
    ),
}


def unchecked(real: Any) -> Any:
    def check(self: ShareServer, reports: Any) -> Any:
        init = self._prio3.verify_init

        class Lenient:
            def __getattr__(self, name: str) -> Any:
                return getattr(prio3, name)

            def verify_init(self, key: bytes, index: int, nonces: Any, public: Any, inputs: Any) -> Any:
                verified = init(key, index, nonces, public, inputs)
                own = slice(32 * index, 32 * index + verified.part.shape[1])
                public[:, own] = verified.part
                return verified

        prio3 = self._prio3
        self._prio3 = Lenient()  # type: ignore[assignment]
        try:
            return real(self, reports)
        finally:
            self._prio3 = prio3

    return check


def quiet(real: Any, server: ShareServer) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiscreteLaplace, "_released", lambda self, values: values)
        return real(server)


def zero(vectors: Any) -> Any:
    return tuple(vector * 0 for vector in vectors)


def test_the_checks_hold_for_the_real_code() -> None:
    assert all(check() for check in CHECKS)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    assert not all(check() for check in CHECKS)
