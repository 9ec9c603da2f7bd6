"""Two servers that talk to one another, and reports with a bit turned over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.local import (
    Reports,
    ShareServer,
    Total,
    TwoServerCount,
    TwoServerHistogram,
    TwoServers,
    TwoServerSets,
    TwoServerSum,
    TwoServerSums,
    commitment,
)

KEY = bytes(range(32))
COMMON: dict[str, Any] = {"spend": dp.pure("1/2"), "minimum": 1, "commitment": commitment(KEY)}

COUNT = TwoServerCount(**COMMON)
SUM = TwoServerSum(bound=200, **COMMON)
HISTOGRAM = TwoServerHistogram(domain=4, **COMMON)
SUMS = TwoServerSums(size=3, bound=5, **COMMON)
SETS = TwoServerSets(domain=5, most=2, **COMMON)
SCHEMES: list[tuple[TwoServers, int]] = [(COUNT, 2), (SUM, 201), (HISTOGRAM, 4)]
"""With how many values each has, which are 0, 1, 2, …"""


def both(scheme: TwoServers) -> tuple[ShareServer, ShareServer]:
    return scheme.server(0, KEY), scheme.server(1, KEY)


def exchange(servers: tuple[ShareServer, ShareServer], reports: tuple[Reports, Reports]) -> None:
    one, two = servers
    said = one.check(reports[0]), two.check(reports[1])
    verdicts = one.judge(said[1]), two.judge(said[0])
    one.settle(verdicts[1])
    two.settle(verdicts[0])


def total(scheme: TwoServers, values: Any) -> Total:
    servers = both(scheme)
    exchange(servers, scheme.client().encode(values))
    return scheme.collect(servers[0].publish(), servers[1].publish())


def turned(batch: Reports, generator: np.random.Generator, start: int) -> Reports:
    """Every report with one bit turned over, anywhere from byte `start` on."""
    rows: NDArray[np.uint8] = batch.rows.copy()
    bits = generator.integers(8 * start, 8 * batch.width, len(rows))
    rows[np.arange(len(rows)), bits // 8] ^= (1 << bits % 8).astype(np.uint8)
    return Reports(batch.fingerprint, rows)
