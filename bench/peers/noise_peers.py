"""One measurement by a peer, in the peer's own environment: `python noise_peers.py PEER QUESTION`, JSON in and out.

The question is ``draw``: CPU ns per draw of a noise at a scale; or ``sigma``: the scale of Gaussian noise for (ε, δ).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
RUNS = 3
VECTOR = 100_000  # draws in one call, for a peer that takes vectors
SINGLE = 3_000  # calls, for a peer that takes one number


def nanoseconds(draw: Callable[[], object], draws: int) -> float:
    draw()
    times = []
    for _ in range(RUNS):
        start = time.process_time_ns()
        draw()
        times.append((time.process_time_ns() - start) / draws)
    return statistics.median(times)


def one_by_one(draw: Callable[[], object]) -> float:
    def run() -> None:
        for _ in range(SINGLE):
            draw()

    return nanoseconds(run, SINGLE)


def opendp_measurement(noise: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if noise == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


def opendp_draw(case: Case) -> float:
    """One measurement over a vector of zeros; about a tenth of the time carries the vector in and out."""
    measurement, zeros = opendp_measurement(case["noise"], case["scale"]), [0] * VECTOR
    return nanoseconds(lambda: measurement(zeros), VECTOR)


def diffprivlib_draw(case: Case) -> float:
    from diffprivlib.mechanisms import GaussianDiscrete, Geometric

    if case["noise"] == "laplace":
        mechanism = Geometric(epsilon=1 / case["scale"], sensitivity=1)
    else:
        mechanism = GaussianDiscrete(epsilon=1, delta=1e-5, sensitivity=1)
        mechanism._scale = case["scale"]  # noqa: SLF001 (it has no other way to a scale)
    return one_by_one(lambda: mechanism.randomise(0))


def python_dp_draw(case: Case) -> float:
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism

    mechanism = (
        LaplaceMechanism(epsilon=1 / case["scale"], sensitivity=1.0)
        if case["noise"] == "laplace"
        else GaussianMechanism.create_from_standard_deviation(case["scale"])
    )
    return one_by_one(lambda: mechanism.add_noise(0))


def opendp_sigma(case: Case) -> float:
    import opendp.prelude as dp

    def measurement(scale: float) -> Any:
        approximate = dp.c.make_zCDP_to_approxDP(opendp_measurement("gaussian", scale))
        return dp.c.make_fix_delta(approximate, delta=case["delta"])

    dp.enable_features("contrib")
    return dp.binary_search_param(measurement, d_in=1.0, d_out=(case["epsilon"], case["delta"]), T=float)


def diffprivlib_sigma(case: Case) -> float:
    from diffprivlib.mechanisms import GaussianAnalytic

    return GaussianAnalytic(epsilon=case["epsilon"], delta=case["delta"], sensitivity=1)._scale  # noqa: SLF001 (nor out of it)


def python_dp_sigma(case: Case) -> float:
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    return GaussianMechanism(case["epsilon"], case["delta"], 1.0).std


ANSWERS: dict[tuple[str, str], Callable[[Case], float]] = {
    ("opendp", "draw"): opendp_draw,
    ("opendp", "sigma"): opendp_sigma,
    ("diffprivlib", "draw"): diffprivlib_draw,
    ("diffprivlib", "sigma"): diffprivlib_sigma,
    ("python-dp", "draw"): python_dp_draw,
    ("python-dp", "sigma"): python_dp_sigma,
}


def main() -> None:
    print(json.dumps(float(ANSWERS[sys.argv[1], sys.argv[2]](json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
