"""How far the picked candidate is from the best, and how much Gaussian noise an (ε, δ) takes, beside others.

    python bench/selection.py

Errors come twice: exactly, by the laws of the exponential mechanism and of permute-and-flip, and as measured on what is
run. The peers' noise is asked of them in bench/.venvs/noise, which `python bench/noise.py --install-peers` makes.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.polynomial.legendre import leggauss

from discreet.mechanisms import Exponential, Gaussian, PermuteAndFlip
from discreet.privacy import approx
from noise import PEERS, of_peer
from peering import python_of

PICKS = 2_000
EPSILONS = (0.1, 0.5, 1.0, 2.0)
SPEND = (1.0, 1e-5)


def workloads() -> dict[str, list[int]]:
    rng = np.random.default_rng(4)
    return {
        "10 counts, all equal but one": [8] + [0] * 9,
        "100 counts, Zipf": [round(30 / (i + 1)) for i in range(100)],
        "30 counts, close together": [100 - i for i in range(30)],
        "200 counts, uniform": rng.integers(0, 50, 200).tolist(),
    }


def shares(utilities: list[int], epsilon: float) -> np.ndarray:
    """exp(ε (u − max u) / 2): the odds of the one, the probability of being kept in the other."""
    return np.exp(epsilon * (np.array(utilities, dtype=float) - max(utilities)) / 2)


def exponential_law(utilities: list[int], epsilon: float) -> np.ndarray:
    odds = shares(utilities, epsilon)
    return odds / odds.sum()


def permute_and_flip_law(utilities: list[int], epsilon: float) -> np.ndarray:
    """P(i) = p_i ∫₀¹ Π_{j≠i} (1 − p_j t) dt (McKenna and Sheldon 2020): a polynomial, so Gauss's rule is exact."""
    kept = shares(utilities, epsilon)
    nodes, weights = leggauss(len(utilities) // 2 + 1)
    at = (nodes + 1) / 2
    factors = 1 - np.outer(at, kept)
    law = np.array(
        [share * float(weights / 2 @ np.delete(factors, i, axis=1).prod(axis=1)) for i, share in enumerate(kept)]
    )
    assert math.isclose(law.sum(), 1, rel_tol=1e-9), law.sum()
    return law


def measured(mechanism: Exponential | PermuteAndFlip, utilities: list[int]) -> tuple[float, float, float]:
    """The mean error of what is run, its standard error, and the CPU time of a pick in µs."""
    start = time.process_time_ns()
    errors = [max(utilities) - utilities[mechanism.release(utilities)] for _ in range(PICKS)]
    micros = (time.process_time_ns() - start) / PICKS / 1000
    return float(np.mean(errors)), float(np.std(errors)) / math.sqrt(PICKS), micros


def compare_selections() -> None:
    print(f"expected error, exact and measured over {PICKS:,} picks (± a standard error); CPU µs per pick")
    print(f"{'utilities':<30}{'ε':>5}{'exponential':>27}{'permute-and-flip':>32}{'ratio':>12}")
    for name, utilities in workloads().items():
        gaps = max(utilities) - np.array(utilities)
        for epsilon in EPSILONS:
            line, exact = f"{name:<30}{epsilon:>5g}", []
            for law, mechanism in (
                (exponential_law, Exponential(epsilon, 1)),
                (permute_and_flip_law, PermuteAndFlip(epsilon, 1)),
            ):
                exact.append(float(law(utilities, epsilon) @ gaps))
                mean, error, micros = measured(mechanism, utilities)
                line += f"{exact[-1]:>10.3f} {mean:>8.3f} ±{error:<6.3f}{micros:>4.0f}"
            worse = "" if exact[1] <= exact[0] * (1 + 1e-9) else "  WORSE"
            print(f"{line}{exact[1] / exact[0]:>9.3f}{worse}", flush=True)


def compare_gaussians() -> None:
    epsilon, delta = SPEND
    textbook = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    ours = float(Gaussian.calibrate(approx(epsilon, delta), 1).sigma)
    print(f"\nsigma of Gaussian noise at epsilon {epsilon:g}, delta {delta:g}, L2 sensitivity 1")
    print(
        f"  {'discreet':<26}{ours:>9.4f}\n  {'textbook, 1.25/delta':<26}{textbook:>9.4f}{textbook / ours:>9.3f}× ours"
    )
    if not python_of(PEERS).exists():
        print("  no peers: python bench/noise.py --install-peers makes their environment")
        return
    names = {"opendp": "opendp (discrete, by ρ)", "diffprivlib": "diffprivlib, analytic", "python-dp": "python-dp"}
    for peer, name in names.items():
        found = of_peer(peer, "sigma", {"epsilon": epsilon, "delta": delta})
        print(f"  {name:<26}" + ("   failed" if found is None else f"{found:>9.4f}{found / ours:>9.3f}× ours"))


if __name__ == "__main__":
    compare_selections()
    compare_gaussians()
