"""Two servers: reports a second, on one core, at every step, and bytes of a report.

    python bench/two_servers.py [--reports 4000] [--seconds 2]

A step of a server is that of one of the two. `device` is the time of one report alone, in milliseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import discreet as dp
from discreet import local
from discreet.local.two_servers.prio3._field64 import Field64
from discreet.local.two_servers.prio3._field128 import Field128

KEY = bytes(32)
COMMON = {"spend": dp.pure(1), "minimum": 1, "commitment": local.commitment(KEY)}
SCHEMES = {
    "count": (local.TwoServerCount(**COMMON), 2),
    "sum of 16 bits": (local.TwoServerSum(bound=2**16 - 1, **COMMON), 2**16),
    "histogram of 100": (local.TwoServerHistogram(domain=100, **COMMON), 100),
}


def timed(work: Callable[[], object], seconds: float = 0) -> float:
    """Seconds of one call, the least of as many as there is time for."""
    start, best = time.perf_counter(), float("inf")
    while True:
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
        if time.perf_counter() - start >= seconds:
            return best


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--reports", type=int, default=4000)
    arguments.add_argument("--seconds", type=float, default=2)
    given = arguments.parse_args()

    for field in (Field64(), Field128()):
        elements = field.elements(range(1, 10_001))
        print(f"{type(field).__name__}: {timed(lambda f=field, e=elements: f.mul(e, e), 0.5) / 1e-5:.1f} ns a product")

    steps = ("encode", "check", "judge", "settle", "all of a server")
    print(f"\n{'reports a second':<18}" + "".join(f"{step:>16}" for step in steps) + f"{'bytes':>14}{'device':>10}")
    for name, (scheme, size) in SCHEMES.items():
        values = np.arange(given.reports) % size
        client, best = scheme.client(), np.full(4, np.inf)
        start = time.perf_counter()
        while True:
            marks = [time.perf_counter()]
            reports = client.encode(values)
            marks.append(time.perf_counter())
            one, two = (scheme.server(index, KEY) for index in (0, 1))
            said = one.check(reports[0]), two.check(reports[1])
            marks.append(time.perf_counter())
            verdicts = one.judge(said[1]), two.judge(said[0])
            marks.append(time.perf_counter())
            one.settle(verdicts[1])
            two.settle(verdicts[0])
            marks.append(time.perf_counter())
            best = np.minimum(best, np.diff(marks) / (1, 2, 2, 2))
            if time.perf_counter() - start > given.seconds:
                break
        rates = [given.reports / each for each in (*best, best[1:].sum())]
        widths = "+".join(str(each.width) for each in reports)
        alone = timed(lambda c=client: c.encode([1]), 0.5)
        print(f"{name:<18}" + "".join(f"{rate:>16,.0f}" for rate in rates) + f"{widths:>14}{1e3 * alone:>8.1f}ms")


if __name__ == "__main__":
    main()
