"""Synthetic graphs with edge privacy, beside the private ones. Attacks on them are in bench/graphs_attacks.py.

    python bench/graphs_synthetic.py FOLDER [--epsilon 1] [--delta 0] [--runs 10]

FOLDER holds snap_CA-GrQc.txt and snap_facebook_combined.txt: sizes in the first line, then edges, then coordinates,
which are ignored. Shown are medians over runs of relative errors, of the Kolmogorov–Smirnov distance of degrees, and of
CPU seconds; modularity is that of the communities that Louvain's method finds in each graph (networkx).
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import networkx as nx
import numpy as np
from scipy import sparse

import discreet as dp
from discreet.graphs import Graph
from discreet.graphs.synthetic import MeasurementPlan, synthesize
from discreet.privacy import Loss

GOALS = {
    "edges": 0.03,
    "triangles": 0.05,
    "global clustering": 0.12,
    "average clustering": 0.15,
    "modularity": 0.10,
    "degree KS": 0.03,
    "CPU s": 30.0,
}


def load(path: Path) -> Graph:
    """The graph of a file; vertices are those that have an edge or a loop."""
    with path.open() as file:
        edges = max(int(size) for size in file.readline().split())
        pairs = np.loadtxt(itertools.islice(file, edges), dtype=np.int64, usecols=(0, 1))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return Graph.from_pairs(np.unique(pairs, return_inverse=True)[1].reshape(-1, 2))


def scores(graph: Graph) -> dict[str, float]:
    n, (a, b) = graph.vertices, graph.ends.T
    both = (np.concatenate([a, b]), np.concatenate([b, a]))
    matrix = sparse.csr_array((np.ones(len(both[0]), np.int64), both), shape=(n, n))
    closed = np.asarray((matrix @ matrix).multiply(matrix).sum(axis=1)).ravel()
    degrees = graph.degrees()
    pairs = degrees * (degrees - 1)
    other = nx.Graph(graph.ends.tolist())
    return {
        "edges": graph.edges,
        "triangles": closed.sum() / 6,
        "global clustering": closed.sum() / pairs.sum(),
        "average clustering": (closed / np.maximum(pairs, 1)).mean(),
        "modularity": nx.community.modularity(other, nx.community.louvain_communities(other, seed=1)),
    }


def degree_distance(one: Graph, two: Graph) -> float:
    counts = [np.bincount(each.degrees(), minlength=one.vertices) for each in (one, two)]
    return float(np.abs(np.cumsum(counts[0] - counts[1])).max() / one.vertices)


def compare(name: str, graph: Graph, spend: Loss, runs: int) -> None:
    plan, private = MeasurementPlan.calibrate(spend, graph.vertices), scores(graph)
    rows: list[list[float]] = []
    for _ in range(runs):
        begin = time.process_time()
        synthetic = synthesize(plan.measure(graph)).graph
        seconds = time.process_time() - begin
        errors = [abs(value / private[key] - 1) for key, value in scores(synthetic).items()]
        rows.append([*errors, degree_distance(graph, synthetic), seconds])
    print(f"{name}: {graph.vertices:,} vertices, {graph.edges:,} edges, {spend}, medians of {runs} (and the worst)")
    for (key, goal), values in zip(GOALS.items(), np.array(rows).T, strict=True):
        print(f"  {key:20} {np.median(values):8.4f}   goal {goal:6.2f}   ({values.max():.4f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    spend = dp.pure(options.epsilon) if options.delta == "0" else dp.approx(options.epsilon, options.delta)
    graphs = {name: load(options.folder / f"snap_{name}.txt") for name in ("CA-GrQc", "facebook_combined")}
    for name, graph in graphs.items():
        compare(name, graph, spend, options.runs)


if __name__ == "__main__":
    main()
