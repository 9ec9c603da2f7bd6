"""jax-privacy's strategies for a schema, in its own environment: JSON in and out, [name, error, CPU s] for each."""

from __future__ import annotations

import json
import math
import sys
import time

import jax

jax.config.update("jax_enable_x64", val=True)

from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz  # noqa: E402


def errors(steps: int, epochs: int) -> list[tuple[str, float, float]]:
    """The root mean square error of prefix sums at μ = 1, by jax-privacy's own numbers."""
    separation = steps // epochs
    begun = time.process_time()
    bands = toeplitz.optimize_banded_toeplitz(steps, bands=separation)
    seconds = time.process_time() - begun
    measured = [("jax-privacy, bands", _error(bands, steps, epochs), seconds)]
    for buffers in (2, 3):
        begun = time.process_time()
        try:
            schema = {"n": steps, "min_sep": separation, "max_participations": epochs}
            made = buffered_toeplitz.optimize(**schema, error="mean", min_buffers=buffers, max_buffers=buffers)
        except Exception as failure:  # noqa: BLE001 (what a peer raises is not known)
            print(f"{type(failure).__name__}: {failure}"[:200], file=sys.stderr)
            continue
        seconds = time.process_time() - begun
        column = made.toeplitz_coefs(steps)
        measured.append((f"jax-privacy, {buffers} buffers", _error(column, steps, epochs), seconds))
    return measured


def _error(column: jax.Array, steps: int, epochs: int) -> float:
    mean = float(toeplitz.per_query_error(strategy_coef=column, n=steps).mean())
    padded = toeplitz.pad_coefs_to_n(column, steps)
    squared = toeplitz.minsep_sensitivity_squared(padded, steps // epochs, epochs, steps)
    return math.sqrt(mean * float(squared))


if __name__ == "__main__":
    print(json.dumps(errors(**json.load(sys.stdin))))
