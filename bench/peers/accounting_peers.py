"""One measurement by a peer, in the peer's own environment: `python accounting_peers.py PEER`, JSON in and out."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]


def dp_accounting(case: Case) -> Callable[[], list[float]]:
    import dp_accounting as dpa
    from dp_accounting.pld import PLDAccountant

    def event(part: Case) -> Any:
        noise = {"gaussian": dpa.GaussianDpEvent, "laplace": dpa.LaplaceDpEvent}[part["kind"]](part["noise"])
        return noise if part["rate"] == 1 else dpa.PoissonSampledDpEvent(part["rate"], noise)

    def run() -> list[float]:
        accountant = PLDAccountant()
        for part in case["parts"]:
            accountant.compose(event(part), part["count"])
        return [float(accountant.get_epsilon(case["delta"]))]

    return run


def prv_accountant(case: Case) -> Callable[[], list[float]]:
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import (
        GaussianMechanism,
        LaplaceMechanism,
        PoissonSubsampledGaussianMechanism,
    )

    def variable(part: Case) -> Any:
        if part["kind"] == "gaussian" and part["rate"] < 1:
            return PoissonSubsampledGaussianMechanism(part["rate"], part["noise"])
        if part["kind"] == "gaussian":
            return GaussianMechanism(part["noise"])
        if part["rate"] == 1:
            return LaplaceMechanism(1 / part["noise"])
        raise NotImplementedError("sampled Laplace")

    def run() -> list[float]:
        counts = [part["count"] for part in case["parts"]]
        accountant = PRVAccountant(
            prvs=[variable(part) for part in case["parts"]],
            max_self_compositions=counts,
            eps_error=case["gap"] / 2,
            delta_error=case["delta"] / 1000,
        )
        low, _, high = accountant.compute_epsilon(case["delta"], counts)
        return [float(low), float(high)]

    return run


def main() -> None:
    peer, case = sys.argv[1], json.load(sys.stdin)
    run = {"dp-accounting": dp_accounting, "prv-accountant": prv_accountant}[peer](case)  # imports are not timed
    start = time.process_time()
    found = run()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"epsilon": found, "seconds": seconds, "peak_mib": peak}))


if __name__ == "__main__":
    main()
