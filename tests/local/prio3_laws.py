"""Reports of Prio3 that go the whole way, honest ones and forged ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3 import (
    NONCE,
    Circuit,
    Count,
    Histogram,
    MultihotCountVec,
    Prio3,
    Sum,
    SumVec,
)
from discreet.local.two_servers.prio3._field import Vector

GENERATOR = np.random.default_rng(20)


def drawn(count: int, width: int) -> NDArray[np.uint8]:
    return GENERATOR.integers(0, 256, (count, width), dtype=np.uint8)


def accepted(prio3: Prio3, values: NDArray[Any], key: bytes = bytes(32)) -> tuple[NDArray[np.bool_], Vector]:
    """Which reports of these are accepted, and what both servers together would add up."""
    nonces = drawn(len(values), NONCE)
    sharded = prio3.shard(values, nonces, drawn(len(values), prio3.entropy))
    one, two = (prio3.verify_init(key, i, nonces, sharded.public, sharded.inputs[i]) for i in (0, 1))
    message, valid = prio3.verifier_shares_to_message(one.share, two.share)
    agreed = valid & prio3.verify_next(one, message) & prio3.verify_next(two, message)
    return agreed, prio3.circuit.field.add(one.outputs, two.outputs)


@dataclass(frozen=True, slots=True)
class Forged:
    """A circuit whose clients encode what they like, and prove it as well as they can."""

    real: Circuit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def encode(self, values: NDArray[Any]) -> Vector:
        field, length = self.real.field, self.real.shape.length
        return field.elements(int(each) for each in values.ravel()).reshape(len(values), length, field.limbs)


OPPOSITE = 17358367732773175910
"""Of 3: x² − x is 6 there, and −6 here."""

FORGERIES: list[tuple[Circuit, list[list[int]]]] = [
    (Count(), [[2], [-1], [3], [2**63], [2**32]]),
    (Sum(5), [[2, 0, 0], [0, 0, 2], [-1, 1, 0], [1, 1, -1], [0, -1, 0], [2**40, 0, 0], [3, OPPOSITE, 0]]),
    (Histogram(4, 2), [[1, 1, 0, 0], [0, 0, 0, 0], [2, -1, 0, 0], [0, 0, 0, 2], [1, 1, 1, -2], [5, -4, 0, 0]]),
    (SumVec(2, 3, 2), [[2, 0, 0, 0], [0, 0, 0, -1], [2, -1, 0, 0], [1, 1, 1, 5]]),
    (MultihotCountVec(3, 2, 2), [[1, 1, 1, 1, 1], [1, 1, 0, 1, 0], [0, 0, 0, 1, 0], [2, 0, 0, 1, 1], [1, 1, 1, 3, 0]]),
]


def forged(circuit: Circuit, forgeries: list[list[int]], times: int = 8) -> NDArray[np.bool_]:
    """Which of these encodings are accepted, each of them tried some times."""
    return accepted(Prio3(Forged(circuit), b"test"), np.array(forgeries * times, dtype=object))[0]  # type: ignore[arg-type]
