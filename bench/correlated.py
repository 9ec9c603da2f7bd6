"""What correlated noise costs a training run in error, in time and in memory; what a restart adds; and the choice.

    python bench/correlated.py
    python bench/correlated.py --install-peers    # jax-privacy, into an environment of its own, and compare

Errors are the root mean square over all prefix sums, at μ = 1 and a bound of 1. A person takes part once in each epoch,
in the same order each time. The rows marked * are in this library.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.learn.correlated import (
    CorrelatedGaussian,
    Independent,
    MinimumSeparation,
    candidates,
    optimize,
    optimize_blt,
    prefix_error,
)
from discreet.privacy import Loss, approx, mu
from peering import asked, install, python_of

SCHEMAS = ((512, 1), (2048, 8), (2048, 16), (10_000, 5))
KNOWN = {(512, 1): 2.836, (2048, 8): 10.59, (2048, 16): 17.14}
PARAMETERS = 300_000


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return make(), time.process_time() - begun


def peers(steps: int, epochs: int) -> list[tuple[str, float, float]]:
    """Each of jax-privacy's strategies, with its error and the seconds it took."""
    python = python_of("correlated")
    if not python.exists():
        return []
    command = [str(python), "bench/peers/correlated_peers.py"]
    return asked(command, {"steps": steps, "epochs": epochs}, 600) or []


def errors() -> None:
    print(f"{'steps, epochs':16}{'strategy':28}{'numbers kept':>14}{'error':>9}{'× best known':>14}{'CPU s':>8}")
    for steps, epochs in SCHEMAS:
        sampling = MinimumSeparation.epochs(steps, epochs)
        numbers = steps, sampling.participations, sampling.separation
        searches: list[tuple[str, Callable[[], Any]]] = [
            ("independent *", Independent),
            ("16 bands *", lambda numbers=numbers: optimize(*numbers, bands=16)),
            ("bands *", lambda numbers=numbers: optimize(*numbers)),
            ("1 buffer *", lambda numbers=numbers: optimize_blt(*numbers, buffers=1)),
            ("up to 3 buffers *", lambda numbers=numbers: optimize_blt(*numbers)),
        ]
        best = KNOWN.get((steps, epochs), 0.0)
        for name, search in searches:
            strategy, seconds = timed(search)
            error = prefix_error(strategy, sampling)
            ratio = f"{error / best:14.3f}" if best else " " * 14
            print(f"{f'{steps}, {epochs}':16}{name:28}{strategy.state:14}{error:9.3f}{ratio}{seconds:8.2f}")
        for name, error, seconds in peers(steps, epochs):
            print(f"{'':16}{name:42}{error:9.3f}{'':14}{seconds:8.2f}")


def restarts() -> None:
    """The error over steps that were not lost, by the dense matrix with entries taken out."""
    steps, epochs = 2048, 8
    sampling = MinimumSeparation.epochs(steps, epochs)
    often = range(200, 2000, 225)
    cases = ((), 0, False), ((1000,), 10, False), ((1000,), 0, True), (often, 10, False), (often, 0, True)
    print(f"\nRestarts at {steps} steps, {epochs} epochs: the error of sums of all steps that are not lost")
    print(f"{'strategy':20}{'none':>9}{'10 lost':>9}{'state lost':>12}{'8 × 10 lost':>13}{'8 × state':>11}")
    for name, strategy in (
        ("independent", Independent()),
        ("bands", optimize(steps, epochs, sampling.separation)),
        ("up to 3 buffers", optimize_blt(steps, epochs, sampling.separation)),
    ):
        norm = prefix_error(strategy, sampling) / prefix_error(strategy, MinimumSeparation(steps, 1, steps))
        scale = norm * float(np.linalg.norm(strategy.column(steps)))
        row = []
        for places, lost, fresh in cases:
            column = strategy.column(steps)
            matrix = np.array([[column[t - s] if t >= s else 0.0 for s in range(steps)] for t in range(steps)])
            kept = np.ones(steps, dtype=bool)
            for place in places:
                kept[place : place + lost] = False
                matrix[place + lost :, 0 if fresh else place : place + lost] = 0
            prefix = np.linalg.solve(matrix.T, (np.tril(np.ones((steps, steps))) * kept)[kept].T).T
            row.append(scale * np.sqrt(np.mean(np.sum(prefix**2, axis=1))))
        print(f"{name:20}{row[0]:9.2f}{row[1]:9.2f}{row[2]:12.2f}{row[3]:13.2f}{row[4]:11.2f}")


def speed() -> None:
    print(f"\nNanoseconds of CPU for each parameter and step, {PARAMETERS} parameters")
    print(f"{'strategy':24}{'independent noise':>18}{'correlation':>13}")
    for name, strategy in (
        ("independent", Independent()),
        ("4 bands", optimize(2048, 8, 256, bands=4)),
        ("16 bands", optimize(2048, 8, 256, bands=16)),
        ("256 bands", optimize(2048, 8, 256)),
        ("2 buffers", optimize_blt(2048, 8, 256)),
        ("3 buffers", optimize_blt(10_000, 1, 10_000)),
    ):
        run = CorrelatedGaussian(strategy, MinimumSeparation(10_000), 1 << 18, bound=1 << 16, size=PARAMETERS)
        noise = run.start()
        for step in (1, 2):
            noise.next(step)
        _, drawing = timed(lambda noise=noise: [noise.draw_ahead() for _ in range(5)])
        _, correlating = timed(lambda noise=noise: [noise.next(step) for step in range(3, 8)])
        each = 5 * PARAMETERS / 1e9
        print(f"{name:24}{drawing / each:18.1f}{correlating / each:13.1f}")


def choices() -> None:
    print("\nThe planned error of each candidate that keeps up to 4 numbers a parameter, in bounds; the least first")
    spends: tuple[Loss, ...] = (mu(1), approx(1, "1e-6"), approx(8, "1e-6"))
    for spend in spends:
        for steps, epochs in ((512, 1), (2048, 8), (2048, 64)):
            runs, seconds = timed(
                lambda spend=spend, steps=steps, epochs=epochs: candidates(
                    spend, MinimumSeparation.epochs(steps, epochs), bound=1 << 16, size=PARAMETERS
                )
            )
            words = [
                f"{type(run.strategy).__name__}({run.strategy.state}) "
                f"{'sampled' if hasattr(run.sampling, 'rate') else 'apart'} {run.prefix_std() / 2**16:.2f}"
                for run in runs
            ]
            print(f"{spend!s:20}{f'{steps}, {epochs}':10}{seconds:5.2f} s  {'; '.join(words)}")


if __name__ == "__main__":
    if "--install-peers" in sys.argv:
        install("correlated", "correlated.txt")
    errors()
    restarts()
    speed()
    choices()
