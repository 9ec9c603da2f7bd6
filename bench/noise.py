"""What exact noise costs: CPU time per draw, next to numpy's floating-point generators in the same run.

    python bench/noise.py

numpy is a yardstick for speed alone: its noise is neither exact nor secure. Other exact samplers are measured in
their own environment, and not here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from discreet.noise import discrete_gaussian, discrete_laplace

DRAWS = 1_000_000
RUNS = 7
SCALES = (0.5, 10, 63.9, 1e4, 1e9, 1e12)


def nanoseconds_per_draw(draw: Callable[[int], object]) -> float:
    """The median over runs of CPU time per draw, after one draw that makes the tables."""
    draw(1)
    times = []
    for _ in range(RUNS):
        start = time.process_time_ns()
        draw(DRAWS)
        times.append((time.process_time_ns() - start) / DRAWS)
    return statistics.median(times)


def main() -> None:
    rng = np.random.default_rng()
    print(f"{DRAWS:,} draws, median of {RUNS} runs, CPU ns per draw")
    print(f"{'noise':<10}{'scale':>10}{'discreet':>10}{'numpy':>8}{'ratio':>8}")
    for name, exact, numpy_draw in (
        ("laplace", discrete_laplace, rng.laplace),
        ("gaussian", discrete_gaussian, rng.normal),
    ):
        for scale in SCALES:
            ours = nanoseconds_per_draw(lambda size, exact=exact, scale=scale: exact(scale, size))
            theirs = nanoseconds_per_draw(lambda size, draw=numpy_draw, scale=scale: draw(0, scale, size))
            print(f"{name:<10}{scale:>10g}{ours:>10.1f}{theirs:>8.1f}{ours / theirs:>8.2f}")


if __name__ == "__main__":
    main()
