"""Noisy sums of neighbours' vectors as features of a classifier, beside the vectors alone, on planted partitions.

    python bench/graphs_features.py [--runs 20] [--seed 1] [--degree 40]

1,000 vertices in 4 blocks of 250. A vertex has `degree` neighbours on average, and is joined to each vertex of its own
block with five times the chance of others. Each vertex has 8 public numbers: standard normal noise, and 0.5 more in two
of them, which its block says. Labels of a fifth of the vertices are public; a logistic regression of scikit-learn
learns them, and its accuracy is that on the others. Graph, numbers and split are drawn anew in every run, from a fixed
seed; the noise that protects edges is not seeded. δ = 1e-5. ``no noise`` is not private.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dp
from discreet.graphs import Graph, NoisyAggregation
from discreet.graphs.features import neighbour_sums, normalized, unit_vectors
from goals import Goals

VERTICES, BLOCKS, COLUMNS = 1_000, 4, 8
SIGNAL, TRAINED = 0.5, 200
EPSILONS = ("0.5", "1", "2", "4")
DELTA = "1e-5"
GAIN = 0.10


def planted(dice: np.random.Generator, degree: float) -> tuple[Graph, np.ndarray, np.ndarray]:
    """A graph, a row of public numbers for each vertex, and its block."""
    block = np.arange(VERTICES) % BLOCKS
    a, b = np.triu_indices(VERTICES, 1)
    across = degree * BLOCKS / VERTICES / (5 + BLOCKS - 1)
    joined = dice.random(len(a)) < np.where(block[a] == block[b], 5 * across, across)
    vectors = dice.standard_normal((VERTICES, COLUMNS))
    for place in range(2):
        vectors[np.arange(VERTICES), 2 * block + place] += SIGNAL
    return Graph.from_pairs(np.column_stack([a[joined], b[joined]]), VERTICES), vectors, block


def accuracy(features: np.ndarray, block: np.ndarray, trained: np.ndarray) -> float:
    learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2_000))
    learner.fit(features[trained], block[trained])
    return float((learner.predict(features[~trained]) == block[~trained]).mean())


def without_noise(graph: Graph, units: np.ndarray, hops: int) -> np.ndarray:
    rows = [units]
    for _ in range(hops):
        rows.append(normalized(neighbour_sums(graph, rows[-1])))
    return np.concatenate(rows, axis=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--degree", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = np.random.default_rng(options.seed)
    scores: dict[str, list[float]] = {}
    seconds = 0.0
    for _ in range(options.runs):
        graph, vectors, block = planted(dice, options.degree)
        units = unit_vectors(vectors, VERTICES)
        trained = np.zeros(VERTICES, bool)
        trained[dice.permutation(VERTICES)[:TRAINED]] = True
        scores.setdefault("vectors alone", []).append(accuracy(vectors, block, trained))
        for hops in (1, 2, 3):
            for epsilon in EPSILONS:
                aggregation = NoisyAggregation.calibrate(dp.approx(epsilon, DELTA), hops)
                begun = time.process_time()
                noisy = aggregation.release(graph, vectors)
                seconds = max(seconds, time.process_time() - begun)
                features = aggregation.features(units, noisy)
                scores.setdefault(f"hops {hops}, ε = {epsilon}", []).append(accuracy(features, block, trained))
            exact = accuracy(without_noise(graph, units, hops), block, trained)
            scores.setdefault(f"hops {hops}, no noise", []).append(exact)
    goals = Goals()
    print(f"Mean accuracy of {options.runs} planted partitions (standard error); by chance {1 / BLOCKS:.2f}")
    alone = np.mean(scores["vectors alone"])
    for name, values in scores.items():
        mean, error = np.mean(values), np.std(values) / max(len(values) - 1, 1) ** 0.5
        held = name == "hops 2, ε = 2"
        goal = f"{GAIN:.2f} above the vectors alone: {mean - alone:+.3f}" if held else ""
        goals.line(name, f"{mean:.3f} ({error:.3f})", goal, bool(mean >= alone + GAIN) if held else None)
    print(f"  CPU seconds of one aggregation: {seconds:.3f} at most")
    return goals.close()


if __name__ == "__main__":
    raise SystemExit(main())
