"""Synthetic graphs with edge privacy, beside the private ones, and whether planted vertices can be traced in them.

    python bench/graphs_synthetic.py FOLDER [--epsilon 1] [--delta 0] [--runs 10] [--attack]

FOLDER holds snap_CA-GrQc.txt and snap_facebook_combined.txt: sizes in the first line, then edges, then coordinates,
which are ignored. Shown are medians over runs of relative errors, of the Kolmogorov–Smirnov distance of degrees, and of
CPU seconds; modularity is that of the communities that Louvain's method finds in each graph (networkx).

--attack: Backstrom, Dwork and Kleinberg 2007 (walk-based): an attacker adds a few vertices to the facebook graph,
joined to each other at random and to targets, each by a pattern of its own, and looks for them by degrees in what is
published. Scored are pairs of targets whose edge, or whose lack of one, is told rightly: in the graph with names
removed, and in the synthetic one. Baseline is to say that no pair is joined, or each, whichever is right more often.
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


class Planted:
    """A few vertices of an attacker in a graph, and what he remembers of them."""

    def __init__(self, graph: Graph, targets: int, dice: np.random.Generator) -> None:
        n, self.size = graph.vertices, 7
        while 2**self.size < 8 * targets:
            self.size += 1
        self.size += 3
        self.targets = dice.choice(n, targets, replace=False)
        self.inside = np.triu(dice.random((self.size, self.size)) < 0.5, 1)
        self.inside[np.arange(self.size - 1), np.arange(1, self.size)] = True
        patterns: set[frozenset[int]] = set()
        while len(patterns) < targets:
            chosen = dice.choice(self.size, int(dice.integers(2, self.size // 2 + 1)), replace=False)
            patterns.add(frozenset(chosen.tolist()))
        self.patterns = sorted(patterns, key=sorted)
        dice.shuffle(self.patterns)  # type: ignore[arg-type]
        pairs = [(n + i, n + j) for i, j in np.argwhere(self.inside).tolist()]
        pairs += [(n + i, int(t)) for t, pattern in zip(self.targets, self.patterns, strict=True) for i in pattern]
        self.graph = Graph.from_pairs(np.concatenate([graph.ends, np.array(pairs)]), n + self.size)
        self.degrees = self.graph.degrees()[n:]

    def search(self, published: Graph) -> list[list[int]]:
        """All paths in a published graph whose vertices have the degrees and the edges of the planted ones."""
        near = [set[int]() for _ in range(published.vertices)]
        for a, b in published.ends.tolist():
            near[a].add(b)
            near[b].add(a)
        paths = [[v] for v in range(published.vertices) if len(near[v]) == self.degrees[0]]
        for i in range(1, self.size):
            paths = [
                [*path, v]
                for path in paths
                for v in near[path[-1]] - set(path)
                if len(near[v]) == self.degrees[i] and all((path[j] in near[v]) == self.inside[j, i] for j in range(i))
            ][:1000]
        return paths

    def trace(self, published: Graph, path: list[int]) -> list[int | None]:
        """The vertices of a published graph that the targets seem to be."""
        near = [set[int]() for _ in range(published.vertices)]
        for a, b in published.ends.tolist():
            near[a].add(b)
            near[b].add(a)
        own = set(path)
        traced: list[int | None] = []
        for pattern in self.patterns:
            joined = set.intersection(*(near[path[i]] for i in pattern)) - own
            exact = [v for v in joined if near[v] & own == {path[i] for i in pattern}]
            traced.append(exact[0] if len(exact) == 1 else None)
        return traced

    def guesses(self, published: Graph, *, fallback: bool) -> np.ndarray:
        """For each pair of targets, whether it is joined; what cannot be traced is guessed as the baseline is."""
        keys = set((published.ends[:, 0] * published.vertices + published.ends[:, 1]).tolist())
        paths = self.search(published)
        traced = self.trace(published, paths[0]) if len(paths) == 1 else [None] * len(self.targets)
        guesses = []
        for a, b in itertools.combinations(traced, 2):
            unknown = a is None or b is None
            guesses.append(fallback if unknown else min(a, b) * published.vertices + max(a, b) in keys)
        return np.array(guesses)


def attack(graph: Graph, spend: Loss, runs: int, targets: int = 60) -> None:
    """Targets are chosen so that half of the scored pairs are joined: the baseline is 50 %."""
    dice, rows = np.random.default_rng(1), []
    for _ in range(runs):
        planted = Planted(graph, targets, dice)
        keys = set((planted.graph.ends[:, 0] * planted.graph.vertices + planted.graph.ends[:, 1]).tolist())
        pairs = list(itertools.combinations(planted.targets.tolist(), 2))
        joined = np.array([min(a, b) * planted.graph.vertices + max(a, b) in keys for a, b in pairs])
        apart = dice.permutation(np.flatnonzero(~joined))[: joined.sum()]
        scored = np.concatenate([np.flatnonzero(joined), apart])
        order = dice.permutation(planted.graph.vertices)
        unnamed = Graph.from_pairs(order[planted.graph.ends], planted.graph.vertices)
        synthetic = synthesize(MeasurementPlan.calibrate(spend, planted.graph.vertices).measure(planted.graph)).graph
        rows.append([
            float((planted.guesses(each, fallback=False) == joined)[scored].mean()) for each in (unnamed, synthetic)
        ])  # fmt: skip
    means = np.mean(rows, axis=0)
    print(f"planted vertices, {targets} targets, {runs} runs: pairs told rightly, as many joined as not")
    print(f"  names removed {means[0]:.3f}   synthetic {means[1]:.3f}   baseline 0.500")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--attack", action="store_true")
    options = parser.parse_args()
    spend = dp.pure(options.epsilon) if options.delta == "0" else dp.approx(options.epsilon, options.delta)
    graphs = {name: load(options.folder / f"snap_{name}.txt") for name in ("CA-GrQc", "facebook_combined")}
    if options.attack:
        attack(graphs["facebook_combined"], spend, options.runs)
        return
    for name, graph in graphs.items():
        compare(name, graph, spend, options.runs)


if __name__ == "__main__":
    main()
