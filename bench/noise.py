"""What exact noise costs: CPU time per draw, next to numpy's floating-point generators and other libraries.

    python bench/noise.py [--install-peers]

numpy is a yardstick for speed alone: its noise is neither exact nor secure. Peers run in bench/.venvs/noise where it
exists, each measurement in a process of its own: OpenDP's measurements over vectors, and what the others can, which is
one number at a time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise import discrete_gaussian, discrete_laplace
from peering import HERE, asked, install, python_of

PEERS = "noise"
LIMIT_SECONDS = 30
DRAWS = 1_000_000
RELEASED = 100_000
RUNS = 7
SCALES = (0.5, 10, 63.9, 1e4, 1e9, 1e12)
PEER_SCALES = (10.0, 1e9)
WANTED = 50  # times as fast as OpenDP


def nanoseconds_per_draw(draw: Callable[[int], object], draws: int = DRAWS) -> float:
    """The median over runs of CPU time per draw, after one draw that makes the tables."""
    draw(1)
    times = []
    for _ in range(RUNS):
        start = time.process_time_ns()
        draw(draws)
        times.append((time.process_time_ns() - start) / draws)
    return statistics.median(times)


def of_peer(peer: str, question: str, case: dict[str, Any]) -> float | None:
    """A peer's answer; None if it failed, or did not finish."""
    return asked([str(python_of(PEERS)), str(HERE / "peers" / "noise_peers.py"), peer, question], case, LIMIT_SECONDS)


def compared(name: str, scale: float, ours: float, numpy: float) -> None:
    mechanism = (DiscreteLaplace if name == "laplace" else DiscreteGaussian)(scale)
    released = nanoseconds_per_draw(lambda size: mechanism.release([0] * size), RELEASED)
    print(f"\n{name}, scale {scale:g}\n  {'discreet, noise':<18}{ours:>10.1f}")
    print(f"  {'discreet, release':<18}{released:>10.1f}{released / ours:>9.1f}× our noise, ints in and out")
    print(f"  {'numpy (insecure)':<18}{numpy:>10.1f}{numpy / ours:>9.2f}× our noise", flush=True)
    for peer, label in (("opendp", "opendp, vector"), ("diffprivlib", "diffprivlib"), ("python-dp", "python-dp")):
        found = of_peer(peer, "draw", {"noise": name, "scale": scale})
        if found is None:
            print(f"  {label:<18}    failed, or not in {LIMIT_SECONDS} s", flush=True)
            continue
        goal = f"; wanted {WANTED}×" + ("" if found >= WANTED * ours else ": MISSED") if peer == "opendp" else ""
        print(f"  {label:<18}{found:>10.1f}{found / ours:>9.1f}× our noise, {found / released:.1f}× our release{goal}")


def main() -> None:
    if "--install-peers" in sys.argv:
        install(PEERS, "noise.txt")
    rng = np.random.default_rng()
    print(f"{DRAWS:,} draws, median of {RUNS} runs, CPU ns per draw")
    print(f"{'noise':<10}{'scale':>10}{'discreet':>10}{'numpy':>8}{'ratio':>8}")
    measured: dict[tuple[str, float], tuple[float, float]] = {}
    for name, exact, numpy_draw in (
        ("laplace", discrete_laplace, rng.laplace),
        ("gaussian", discrete_gaussian, rng.normal),
    ):
        for scale in SCALES:
            ours = nanoseconds_per_draw(lambda size, exact=exact, scale=scale: exact(scale, size))
            theirs = nanoseconds_per_draw(lambda size, draw=numpy_draw, scale=scale: draw(0, scale, size))
            measured[name, scale] = ours, theirs
            print(f"{name:<10}{scale:>10g}{ours:>10.1f}{theirs:>8.1f}{ours / theirs:>8.2f}", flush=True)
    if not python_of(PEERS).exists():
        print("\nno peers: python bench/noise.py --install-peers makes their environment")
        return
    for name in ("laplace", "gaussian"):
        for scale in PEER_SCALES:
            compared(name, scale, *measured[name, scale])


if __name__ == "__main__":
    main()
