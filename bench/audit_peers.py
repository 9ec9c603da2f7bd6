"""Audits of peers: what other libraries leak or get wrong, shown by our auditor, and the same audits of our own.

    python bench/audit_peers.py [--install-peers]

Peers run in bench/.venvs/audit, in a process of its own for each batch of outputs; the auditor sees the outputs alone.
Verdicts and intervals are wrong with a probability of 1e-6 each, at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import discreet as dp
from discreet.audit import batched, check
from discreet.audit.probes._probe import probe
from discreet.mechanisms import DiscreteLaplace, OnGrid, RandomizedResponse
from peering import HERE, asked, install, python_of

PEERS = "audit"
LIMIT_SECONDS = 300
SAMPLES = 20_000
PROBED = 10_000
DOUBT = 1e-6
MANY = 20_000  # people whose share is estimated
AUDITORS = (100_000, 1_000_000)

NOT_MEASURED = {
    "dp-auditorium": "no release to install, but a source tree that pins jax 0.4.23, tensorflow 2.15 and 80 more",
    "DP-Sniper": "no release to install, but a source tree that sets itself up with conda, and needs torch",
}


class PeerFailed(Exception):
    """A peer did not answer."""


def of_peer(peer: str, case: dict[str, Any]) -> dict[str, Any]:
    found = asked([str(python_of(PEERS)), str(HERE / "peers" / "audit_peers.py"), peer], case, LIMIT_SECONDS)
    if found is None:
        raise PeerFailed(peer)
    return found


def peer_outputs(peer: str) -> Callable[[int, int], Sequence[Any]]:
    def draw(value: int, size: int) -> Sequence[Any]:
        outputs = of_peer(peer, {"value": value, "size": size, "epsilon": 1})["outputs"]
        return np.array(outputs) if isinstance(outputs[0], float) else [tuple(np.atleast_1d(each)) for each in outputs]

    return draw


def numpy_laplace(value: int, size: int) -> Sequence[float]:
    return value + np.random.default_rng().laplace(size=size)


def ours(value: int, size: int) -> Sequence[int]:
    return DiscreteLaplace(1).release([value] * size)


def ours_on_a_grid(value: int, size: int) -> Sequence[float]:
    """A real number on multiples of 2**-20, with the noise of ε = 1 for a move of 1."""
    return OnGrid(DiscreteLaplace(2**20), step=2.0**-20, bounds=(0, 1), entries=size).release([value] * size)


def ours_of_two(value: int, size: int) -> Sequence[Any]:
    """What histogram encoding does, on a grid: 1 at the value and 0 elsewhere, a move of 2 in all."""
    flat = [float(place == value) for _ in range(size) for place in range(2)]
    found = OnGrid(DiscreteLaplace(2**21), step=2.0**-20, bounds=(0, 1), entries=2 * size).release(flat)
    return list(zip(found[::2], found[1::2], strict=True))


FLOATS: dict[str, tuple[Callable[[int, int], Sequence[Any]], bool]] = {
    "numpy, x + laplace()": (numpy_laplace, False),
    "diffprivlib Laplace": (peer_outputs("diffprivlib Laplace"), True),
    "pure-ldp HE": (peer_outputs("pure-ldp HE"), True),
    "multi-freq-ldpy HE": (peer_outputs("multi-freq-ldpy HE"), True),
    "control: diffprivlib Geometric": (peer_outputs("diffprivlib Geometric"), True),
    "control: discreet DiscreteLaplace": (ours, False),
    "control: discreet OnGrid": (ours_on_a_grid, False),
    "control: discreet OnGrid, two": (ours_of_two, False),
}


def floats(*, peers: bool) -> None:
    """Noise of ε = 1, between the inputs 0 and 1."""
    print(f"Claim ε = 1, inputs 0 and 1: check with {SAMPLES:,} outputs, digits probed with {PROBED:,}")
    print(f"{'':<36}{'certified ε':>12}{'CPU s':>8}  verdict")
    for name, (draw, is_peer) in FLOATS.items():
        if is_peer and not peers:
            print(f"{name:<36}{'not measured':>12}")
            continue
        start = time.process_time()
        try:
            verdict = check(batched(draw), [(0, 1)], dp.pure(1), samples=SAMPLES, confidence=1 - DOUBT)
            seconds = time.process_time() - start
            found = probe(batched(draw), (0, 1), claim=dp.pure(1), samples=PROBED, probes=["digits"])
        except PeerFailed:
            print(f"{name:<36}{'failed':>12}")
            continue
        said = "VIOLATED" if verdict.violated else "not refuted"
        print(f"{name:<36}{verdict.epsilon_lower:>12.3f}{seconds:>8.2f}  {said}", flush=True)
        if verdict.violated and verdict.witness is not None:
            print(f"{'':<10}{verdict.witness.sentence}")
        for each in found.violations:
            print(f"{'':<10}probe, {each.name}: {each.sentence.partition('. ')[0]}")


def exact_interval(hits: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's."""
    from scipy.special import betaincinv

    low = betaincinv(hits, of - hits + 1, DOUBT / 2) if hits else 0.0
    high = betaincinv(hits + 1, of - hits, 1 - DOUBT / 2) if hits < of else 1.0
    return float(low), float(high)


def bias(*, peers: bool) -> None:
    """Everybody holds one value, so its share is 1. Each report to a private count sketch counts as +1 or −1."""
    print(f"\nA share of 1, estimated from {MANY:,} reports; intervals of confidence 1 − {DOUBT:g}")
    print(f"{'ε':>4}  {'pure-ldp PCS':<60}{'discreet RandomizedResponse':<36}")
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        told = "not measured"
        if peers:
            try:
                estimate = of_peer("pure-ldp PCS", {"value": 3, "size": MANY, "epsilon": epsilon})["outputs"][0]
                low, high = (2 * end - 1 for end in exact_interval(round((1 + estimate) / 2 * MANY), MANY))
                biased = "" if high >= 1 else f"  BIASED: at least {1 - high:.3f} too low"
                told = f"{estimate:.4f} [{low:.4f}, {high:.4f}]{biased}"
            except PeerFailed:
                told = "failed"
        own = RandomizedResponse.from_epsilon(epsilon)
        estimated = own.estimate(own.release(np.ones(MANY, dtype=np.int64)), level=1 - DOUBT)
        low, high = (float(end[1]) for end in estimated.interval)
        print(f"{epsilon:>4g}  {told:<60}{estimated.proportions[1]:.4f} [{low:.4f}, {high:.4f}]", flush=True)
    print("e^ε/(1 + e^ε) of the reports are true, and PCS never divides by 2 e^ε/(1 + e^ε) − 1 = tanh(ε/2)")


def auditors() -> None:
    """How much of a right ε = 1 is certified."""
    print("\nA right Laplace of ε = 1: what auditors certify, with confidence 95 %")
    print(f"{'':<20}{'outputs':>10}{'certified ε':>13}{'CPU s':>8}")
    for size in AUDITORS:
        start = time.process_time()
        verdict = check(batched(ours_on_a_grid), [(0, 1)], dp.pure(1), samples=size)
        seconds = time.process_time() - start
        print(f"{'discreet':<20}{size:>10,}{verdict.epsilon_lower:>13.4f}{seconds:>8.2f}", flush=True)
    for name, why in NOT_MEASURED.items():
        print(f"{name:<20}not measured: {why}")


def main() -> None:
    if "--install-peers" in sys.argv:
        install(PEERS, "audit.txt")
    peers = python_of(PEERS).exists()
    if not peers:
        print("no peers: python bench/audit_peers.py --install-peers makes their environment\n")
    floats(peers=peers)
    bias(peers=peers)
    auditors()


if __name__ == "__main__":
    main()
