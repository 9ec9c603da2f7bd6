"""Local frequencies beside pure-ldp and multi-freq-ldpy: reports a CPU second, bytes, and error against theory.

    python bench/local_frequencies.py --install-peers      # once, into bench/.venvs/local
    python bench/local_frequencies.py [--people 1000000] [--sizes 100 10000] [--epsilons 0.5 1 2 4] [--only PROTOCOL …]

Each line is one protocol at one domain size and ε. Ours makes and adds `people` reports, in batches of at most 16 MiB;
a peer makes and adds what it can in two CPU seconds each, in a process of its own, right after. The error is n times
the mean squared error over the domain; theory is the mean of `scheme.variance` at the true frequencies, with what
collisions of public hash functions add.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet import local
from peering import asked, install, python_of

PEERS = "local"
SECONDS = 2.0
BATCH = 1 << 24

OURS: dict[str, tuple[Callable[[int, float], Any], tuple[str, ...]]] = {
    "kary": (lambda d, e: local.KaryRandomizedResponse(domain=d, epsilon=e), ("pure-ldp", "multi-freq-ldpy")),
    "symmetric_unary": (lambda d, e: local.SymmetricUnary(domain=d, epsilon=e), ("pure-ldp", "multi-freq-ldpy")),
    "optimized_unary": (lambda d, e: local.OptimizedUnary(domain=d, epsilon=e), ("pure-ldp", "multi-freq-ldpy")),
    "local_hashing": (lambda d, e: local.LocalHashing(domain=d, epsilon=e), ("pure-ldp", "multi-freq-ldpy")),
    "local_hashing, public keys": (
        lambda d, e: local.LocalHashing(domain=d, epsilon=e, keys=2**16),
        ("pure-ldp",),
    ),
    "hadamard": (lambda d, e: local.HadamardResponse(domain=d, epsilon=e), ("pure-ldp",)),
    "subset_selection": (lambda d, e: local.SubsetSelection(domain=d, epsilon=e), ("multi-freq-ldpy",)),
    "projective_geometry": (lambda d, e: local.ProjectiveGeometry(domain=d, epsilon=e), ()),
    "count_mean": (
        lambda d, e: local.CountMeanSketch(domain=names(d), epsilon=e, hashes=256, width=1024),
        ("pure-ldp",),
    ),
    "hadamard_count_mean": (
        lambda d, e: local.HadamardCountMeanSketch(domain=names(d), epsilon=e, hashes=256, width=1024),
        ("pure-ldp",),
    ),
}


def names(d: int) -> list[str]:
    return [f"https://example.org/{i}" for i in range(d)]


def zipf(people: int, d: int) -> np.ndarray:
    weights = 1 / np.arange(1, d + 1) ** 1.1
    return np.random.default_rng(7).choice(d, size=people, p=weights / weights.sum())


def ours(scheme: Any, values: np.ndarray) -> dict[str, float]:
    step = max(1, BATCH // scheme.layout.width)
    server, encoding, adding = scheme.server(), 0.0, 0.0
    for start in range(0, len(values), step):
        some = values[start : start + step]
        told = some if scheme.domain.names is None else [scheme.domain.names[i] for i in some.tolist()]
        began = time.process_time()
        reports = scheme.simulate(told)
        between = time.process_time()
        server.add(reports)
        encoding += between - began
        adding += time.process_time() - between
    began = time.process_time()
    estimate = server.estimate()
    reading = time.process_time() - began
    truth = np.bincount(values, minlength=scheme.domain.size) / len(values)
    theory = float(np.mean(scheme.variance(truth)))
    if hasattr(scheme, "collision_variance"):  # what public hash functions add, however many people there are
        theory += len(values) * float(np.mean(scheme.collision_variance(truth)))
    return {
        "client": len(values) / encoding,
        "server": len(values) / adding,
        "read": reading,
        "bytes": scheme.layout.width,
        "error": float(np.mean((estimate.frequencies - truth) ** 2)) * len(values),
        "theory": theory,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--install-peers", action="store_true")
    options.add_argument("--people", type=int, default=1_000_000)
    options.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000])
    options.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1, 2, 4])
    options.add_argument("--only", nargs="+", default=list(OURS), choices=list(OURS))
    given = options.parse_args()
    if given.install_peers:
        install(PEERS, "local.txt")
        return
    peers = python_of(PEERS).exists()
    if not peers:
        print("no peers: python bench/local_frequencies.py --install-peers makes their environment", file=sys.stderr)
    print(
        f"{'protocol':<28}{'d':>7}{'ε':>5}  {'who':<16}{'client/s':>12}{'server/s':>13}{'bytes':>8}{'error':>11}"
        f"{'/theory':>9}{'read s':>8}"
    )
    script = str(Path(__file__).parent / "peers" / "local_peers.py")
    for d in given.sizes:
        values = zipf(given.people, d)
        for name in given.only:
            make, others = OURS[name]
            for epsilon in given.epsilons:
                found = ours(make(d, epsilon), values)
                theory = found["theory"]
                print(line(name, d, epsilon, "discreet", found, theory), flush=True)
                case = {"values": values[:200_000].tolist(), "d": d, "epsilon": epsilon, "seconds": SECONDS}
                for peer in others if peers else ():
                    told = asked([str(python_of(PEERS)), script, peer, name], case, 60)
                    if told is not None:
                        client, server = (found[side] / told[side] for side in ("client", "server"))
                        ratios = f"   client {client:.0f}×, server {server:.0f}×"
                        print(line("", d, epsilon, peer, told, theory) + ratios, flush=True)


def line(name: str, d: int, epsilon: float, who: str, found: dict[str, float], theory: float) -> str:
    rates = f"{found['client']:>12,.0f}{found['server']:>13,.0f}{found['bytes']:>8,.0f}"
    read = f"{found['read']:>8.3f}" if "read" in found else " " * 8
    return (
        f"{name:<28}{d:>7,}{epsilon:>5g}  {who:<16}{rates}{found['error']:>11.4g}{found['error'] / theory:>9.3f}{read}"
    )


if __name__ == "__main__":
    main()
