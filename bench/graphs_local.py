"""Local edge privacy on real graphs: edges, 2-stars and triangles, beside the published two rounds for triangles.

    python bench/graphs_local.py FOLDER [--epsilon 1 2] [--runs 10] [--graph facebook_combined]

FOLDER holds the graphs as bench/graphs_synthetic.py takes them. ε is what an edge costs by all reports together: where
both ends report, each has half. Every client's report is drawn as on a device; shown are the median and the root mean
square of relative errors, and the standard deviation that is stated.

published: Imola, Murakami and Chaudhuri 2021, Local2Rounds, reimplemented with float noise (this is a bench): a tenth
of ε on noisy degrees, whose largest is everybody's cap, the rest halved between randomised lists and counts; a client
counts pairs of earlier vertices. Its sensitivity is as published.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.graphs import Graph
from discreet.graphs.counts import stars, triangles
from discreet.graphs.local import (
    Estimate,
    LocalDegrees,
    LocalEdges,
    LocalStars,
    LocalTriangles,
    list_variance,
    neighbour_lists,
)
from graphs_synthetic import load

Lists = list[np.ndarray]


def reported(scheme: LocalDegrees | LocalEdges | LocalStars, lists: Lists):
    server = scheme.server()
    for vertex, own in enumerate(lists):
        server.add(scheme.report(vertex, own))  # type: ignore[arg-type]
    return server


def two_rounds(scheme: LocalTriangles, lists: Lists) -> Estimate:
    """With the part of the randomised lists in its standard deviation."""
    clients = [scheme.client(vertex, own) for vertex, own in enumerate(lists)]
    first, server = scheme.first_server(), scheme.server()
    for client in clients:
        first.add(client.first())
    broadcast = first.broadcast()
    for client in clients:
        server.add(client.second(broadcast))
    estimate = server.triangles()
    higher = [own[broadcast.rank[own] > broadcast.rank[vertex]] for vertex, own in enumerate(lists)]
    variance = estimate.std**2 + list_variance(higher, scheme.edges.flip)
    return Estimate(estimate.value, variance**0.5, estimate.reports)


def published(lists: Lists, epsilon: float, dice: np.random.Generator) -> Estimate:
    n = len(lists)
    degree, part = epsilon / 20, 9 * epsilon / 20
    cap = int(max(len(own) + dice.laplace(0, 1 / degree) for own in lists))
    flip = 1 / (1 + np.exp(part))
    joined = np.zeros((n, n), np.bool_)
    for vertex, own in enumerate(lists):
        joined[vertex, own[own < vertex]] = True
    noisy = np.tril(joined ^ (dice.random((n, n)) < flip), -1)
    scale = (1 - flip) * cap / part
    total = 0.0
    for vertex, own in enumerate(lists):
        earlier = own[own < vertex][:cap]
        pairs = len(earlier) * (len(earlier) - 1) / 2
        total += noisy[np.ix_(earlier, earlier)].sum() - flip * pairs + dice.laplace(0, scale)
    variance = 2 * n * scale**2 / (1 - 2 * flip) ** 2
    variance += list_variance([own[own < vertex] for vertex, own in enumerate(lists)], flip)
    return Estimate(total / (1 - 2 * flip), variance**0.5, n)


def show(name: str, truth: float, once: Callable[[], Estimate], runs: int) -> None:
    begin = time.process_time()
    estimates = [once() for _ in range(runs)]
    seconds = (time.process_time() - begin) / runs
    errors = np.array([each.value - truth for each in estimates]) / truth
    stated = np.mean([each.std for each in estimates]) / truth
    print(
        f"  {name:24} median {np.median(np.abs(errors)):8.4f}   rms {np.sqrt((errors**2).mean()):8.4f}   "
        f"stated {stated:8.4f}   bias {errors.mean():+8.4f}   {seconds:6.2f} CPU s",
        flush=True,
    )


def compare(name: str, graph: Graph, epsilon: float, runs: int) -> None:
    lists, n, dice = neighbour_lists(graph), graph.vertices, np.random.default_rng(1)
    count = triangles(graph)
    print(f"{name}, ε = {epsilon:g} for an edge, {runs} runs; relative errors")
    show("edges, degrees", graph.edges, lambda: reported(LocalDegrees(n, epsilon / 2), lists).edges(), runs)
    show("edges, lists", graph.edges, lambda: reported(LocalEdges(n, epsilon), lists).edges(), runs)
    show("2-stars", stars(graph), lambda: reported(LocalStars(n, epsilon / 2), lists).stars(), runs)
    show("triangles, two rounds", count, lambda: two_rounds(LocalTriangles(n, epsilon), lists), runs)
    show("triangles, published", count, lambda: published(lists, epsilon, dice), runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--graph", nargs="+", default=["facebook_combined"])
    options = parser.parse_args()
    for name in options.graph:
        graph = load(options.folder / f"snap_{name}.txt")
        for epsilon in options.epsilon:
            compare(name, graph, epsilon, options.runs)


if __name__ == "__main__":
    main()
