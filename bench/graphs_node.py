"""Node privacy of graphs: counts beside R2T, and the distribution of degrees beside a projection with the best cap.

    python bench/graphs_node.py FOLDER [--runs 2000] [--graphs CA-GrQc facebook_combined] [--jobs counts public degrees]

FOLDER holds snap_CA-GrQc.txt and snap_facebook_combined.txt: the first line has sizes, then one edge a line; lines with
anything else than two whole numbers end the list. The public bound on degrees is 2,048 for both.

counts: median error over runs, at ε = .5, 1, 2, of edges, 2-stars and triangles with the cap bought, and that of R2T
(Dong, Fang, Yi, Tao and Machanavajjhala 2022, failure rate .1) with the same truncations and the same public bound;
and the CPU time of all truncations that a choice looks at. The noise of R2T is of floats: it is here to compare.
On a large graph a cap of 2-stars below 1/512 of the largest one takes minutes: a run whose choice would look at one
counts as infinitely wrong.
public: edges with the largest degree given as the public bound. components: with the cap bought, beside noise for the
public bound alone, max_degree - 1 for a person, on the true number. degrees: mean Kolmogorov-Smirnov distance at ε = 1,
with the cap bought, beside Day, Li and Lyu 2016 with the best cap for free (noise on each cumulative count, sorted).
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.optimize import isotonic_regression

import discreet as dp
from discreet.graphs import Graph
from discreet.graphs.counts import components as number_of_components
from discreet.graphs.node import (
    EdgeFlows,
    NodeCount,
    NodeDegrees,
    Truncated,
    caps_up_to,
    choose_cap,
    edge_order,
    projected_degrees,
)

MAX_DEGREE = 2_048
EPSILONS = ("0.5", "1", "2")
SALT = b"a salt of the bench"


def read_graph(path: Path) -> Graph:
    pairs: list[tuple[int, int]] = []
    for line in path.read_text().splitlines()[1:]:
        try:
            a, b = map(int, line.split())
        except ValueError:
            break
        pairs.append((a, b))
    _, numbers = np.unique(np.array(pairs), return_inverse=True)
    return Graph.from_pairs(numbers.reshape(-1, 2))


class TooSlow(Exception):
    """A cap that takes minutes."""


class Truncations:
    """Values at caps, each computed once."""

    def __init__(self, count: NodeCount, graph: Graph) -> None:
        self.extension = count.extension(graph)
        self.solved: dict[int, Truncated] = {}
        self.cpu = 0.0
        self.large = graph.edges > 50_000
        self.vertices = graph.vertices
        self.least = count.largest_cap // 512 if self.large and count.statistic == "stars" else 0

    def truncated(self, cap: int) -> Truncated:
        if cap < self.least:
            raise TooSlow
        if cap not in self.solved:
            begin = time.process_time()
            self.solved[cap] = self.extension.truncated(cap)
            self.cpu += time.process_time() - begin
        return self.solved[cap]


def ours(count: NodeCount, values: Truncations, runs: int) -> np.ndarray:
    """Noisy counts, drawn as `NodeCount.release` does."""
    scores = count.scores(values.truncated)
    released = []
    for _ in range(runs):
        try:
            chosen = choose_cap(count.choice, scores) if count.choice else 0
        except TooSlow:
            released.append(math.inf)
            continue
        measured = count.resolution.measured(scores.solve(chosen).value, values.vertices)
        (noisy,) = count.noise(count.caps[chosen]).release([measured])
        released.append(noisy / count.resolution.steps)
    return np.array(released)


def race(count: NodeCount, values: Truncations, epsilon: float, runs: int, failure: float = 0.1) -> np.ndarray:
    """R2T over the caps 2, 4, … up to the public bound; those that cannot win in any run are not computed.

    On a large graph the program of a small cap has millions of variables: below 1/256 of the largest cap R2T has the
    bound by a larger cap's dual instead of the value, which is in its favour.
    """
    rounds = math.ceil(math.log2(count.largest_cap))
    drawn = np.random.default_rng(2022).laplace(size=(rounds + 1, runs))
    best = np.zeros(runs)
    for j in range(rounds, 0, -1):
        cap, scale = 2**j, rounds * 2**j / epsilon
        shift = scale * (drawn[j] - math.log(rounds / failure))
        below = [v.value - v.slope * (c - cap) for c, v in values.solved.items() if c >= cap]
        if below and (min(below) / count.resolution.steps + shift <= best).all():
            continue
        if values.large and cap < count.largest_cap / 256:
            best = np.maximum(best, min(below) / count.resolution.steps + shift)
            continue
        best = np.maximum(best, values.truncated(cap).value / count.resolution.steps + shift)
    return best


def true_count(count: NodeCount, values: Truncations) -> float:
    return values.truncated(count.largest_cap).value / count.resolution.steps


def counts(graph: Graph, runs: int, statistics: tuple[str, ...] = ("edges", "stars", "triangles")) -> None:
    for statistic in statistics:
        values = Truncations(NodeCount(statistic, MAX_DEGREE, dp.pure(1)), graph)
        for epsilon in EPSILONS:
            count = NodeCount(statistic, MAX_DEGREE, dp.pure(epsilon))
            truth = true_count(count, values)
            mine = np.abs(ours(count, values, runs) - truth)
            cpu, looked = values.cpu, len(values.solved)
            theirs = np.median(np.abs(race(count, values, float(epsilon), runs) - truth))
            print(
                f"  {statistic:9} {truth:>11,.0f}  eps {epsilon:3}  median error {np.median(mine):>9,.0f}  mean "
                f"{mine.mean():>9,.0f}  R2T {theirs:>11,.0f}  ratio {np.median(mine) / theirs:.2f}  "
                f"({looked} caps so far, {cpu:.1f} CPU s)",
                flush=True,
            )


def public(graph: Graph, runs: int) -> None:
    top = int(graph.degrees().max())
    for bound in (top, top // 4):
        for epsilon in EPSILONS:
            count = replace(NodeCount("edges", bound, dp.pure(epsilon)), cap="public")
            values = Truncations(count, graph)
            cut = graph.edges - true_count(count, values)
            errors = np.abs(ours(count, values, runs) - graph.edges)
            print(
                f"  edges, max_degree {bound:5,} public, eps {epsilon:3}: mean error {errors.mean():,.0f}, "
                f"cut {cut:,.1f}; D/eps {bound / float(epsilon):,.0f}",
                flush=True,
            )


def components(graph: Graph, runs: int) -> None:
    true = number_of_components(graph)
    values = Truncations(NodeCount("components", MAX_DEGREE, dp.pure(1)), graph)
    for epsilon in EPSILONS:
        count = NodeCount("components", MAX_DEGREE, dp.pure(epsilon))
        errors = np.abs(ours(count, values, runs) - true)
        noise = count.noise(MAX_DEGREE).__class__.calibrate(dp.pure(epsilon), MAX_DEGREE - 1)
        alone = np.median(np.abs(noise.release([0] * runs)))
        left = {cap: values.vertices - value.value / count.resolution.steps for cap, value in values.solved.items()}
        print(
            f"  components {true:,}  eps {epsilon:3}  median error {np.median(errors):.1f}  mean {errors.mean():.1f}  "
            f"noise for max_degree alone {alone:,.0f}; what caps leave {dict(sorted(left.items()))} "
            f"({values.cpu:.1f} CPU s)",
            flush=True,
        )


def distance(cumulative: np.ndarray, degrees: np.ndarray) -> float:
    top = int(max(degrees.max(), len(cumulative) - 1))
    true = np.cumsum(np.bincount(degrees, minlength=top + 1)) / len(degrees)
    return float(np.abs(np.append(cumulative, np.ones(top + 1 - len(cumulative))) - true).max())


def degrees(graph: Graph, runs: int) -> None:
    true, names = graph.degrees(), list(range(graph.vertices))
    question = NodeDegrees(MAX_DEGREE, dp.pure(1))
    generator, order = np.random.default_rng(2016), edge_order(graph, names, SALT)
    scores = question.scores(cache(EdgeFlows(graph).truncated))
    ours = []
    for _ in range(min(runs, 200)):
        cap = question.caps[choose_cap(question.choice, scores)]
        ours.append(question.measured(projected_degrees(graph, cap, order), cap))
    distances = [distance(release.cumulative, true) for release in ours]
    best = min(
        (np.mean([day(projected_degrees(graph, cap, order), cap, true, generator) for _ in range(50)]), cap)
        for cap in caps_up_to(512, 2)[4:]
    )
    print(
        f"  degrees, eps 1: KS distance mean {np.mean(distances):.3f}, median {np.median(distances):.3f}, largest of "
        f"{len(distances)} {max(distances):.3f}; caps {sorted({release.cap for release in ours})}; "
        f"Day 2016 with the best cap ({best[1]}) for free: {best[0]:.3f}"
    )


def day(projected: np.ndarray, cap: int, true: np.ndarray, generator: np.random.Generator) -> float:
    cumulative = np.cumsum(np.bincount(projected, minlength=cap + 1)) + generator.laplace(size=cap + 1) * (cap + 1)
    fitted = np.maximum(isotonic_regression(cumulative).x, 0)
    return distance(fitted / max(fitted[-1], 1), true)


JOBS = {
    "counts": counts,
    "edges": partial(counts, statistics=("edges",)),
    "stars": partial(counts, statistics=("stars",)),
    "triangles": partial(counts, statistics=("triangles",)),
    "public": public,
    "components": components,
    "degrees": degrees,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--graphs", nargs="+", default=["CA-GrQc", "facebook_combined"])
    parser.add_argument("--jobs", nargs="+", default=["counts", "public", "components", "degrees"])
    asked = parser.parse_args()
    for name in asked.graphs:
        graph = read_graph(asked.folder / f"snap_{name}.txt")
        print(f"{name}: {graph.vertices:,} vertices, {graph.edges:,} edges")
        for job in asked.jobs:
            JOBS[job](graph, asked.runs)


if __name__ == "__main__":
    main()
