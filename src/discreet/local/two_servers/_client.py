"""The client of two servers: it splits a value into shares on the device of the person whose value it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.local._reports import Reports
from discreet.local.two_servers._codec import ShareCodec
from discreet.local.two_servers.prio3 import NONCE
from discreet.noise import secret

__all__ = ["ShareClient"]


@dataclass(frozen=True, slots=True)
class ShareClient:
    """One person's device. Made by `scheme.client()`."""

    scheme: ShareCodec

    def encode(self, values: Any) -> tuple[Reports, Reports]:
        """Reports of each value, one or many: for the first server and for the second.

        A report is a nonce of 16 bytes, the public share and the server's input share, as the draft encodes them. Send
        each to its server alone, on a channel that nobody else can read: both together are the value. Costs
        nothing until a total is published, and then `scheme.loss`. Raises `ParameterError`, before anything is drawn,
        for a value that cannot be reported.
        """
        scheme, prio3 = self.scheme, self.scheme.prio3
        prepared = scheme.prepare(values)
        parts: tuple[list[Any], list[Any]] = ([], [])
        for start in range(0, max(len(prepared), 1), prio3.at_once):
            some = prepared[start : start + prio3.at_once]
            drawn = np.frombuffer(secret(len(some) * (NONCE + prio3.entropy)), dtype=np.uint8)
            drawn = drawn.reshape(len(some), NONCE + prio3.entropy)
            nonces = drawn[:, :NONCE]
            sharded = prio3.shard(some, nonces, drawn[:, NONCE:])
            for rows, inputs in zip(parts, sharded.inputs, strict=True):
                rows.append(np.concatenate((nonces, sharded.public, inputs), axis=1))
        one, two = (
            Reports(scheme.fingerprint(f"report {index}"), np.concatenate(rows)) for index, rows in enumerate(parts)
        )
        return one, two
