"""Attacks on releases of the facebook graph: planted vertices, and counts that differ by an edge. Each has its control.

    python bench/graphs_attacks.py FOLDER [--epsilon 1] [--runs 5] [--pairs 200] [--trials 200]

FOLDER holds snap_facebook_combined.txt: sizes in the first line, then edges, then coordinates, which are ignored.

Planted vertices (Backstrom, Dwork and Kleinberg 2007): half of the targeted pairs are joined. Searched are the list of
edges with names removed; that list with some edges taken out and as many put in; and the synthetic graph that a session
releases. "Nearest" is an attacker who takes what is like the planted vertices the most, whatever it differs by.

Differencing: one answer for each trial, on a budget of its own; a coin decides whether the edge is there, and the
attacker knows all others. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import discreet as dp
from discreet import attack, graphs
from discreet.attack import Outcome, Planting
from discreet.graphs import Graph
from discreet.graphs.counts import triangles
from goals import Goals, timed
from graphs import load

ALARM = 1e-9
"""How often the goal of differencing is missed where nothing is wrong."""


def session_over(graph: Graph, epsilon: str) -> dp.Session:
    vertex = {"type": "int", "bounds": [0, graph.vertices - 1], "nullable": False}
    policy = {
        "version": "1",
        "budget": {"epsilon": epsilon},
        "tables": {"ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
        "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }
    return dp.connect({"ties": graph.to_arrow()}, policy)


def perturbed(graph: Graph, share: float, dice: np.random.Generator) -> Graph:
    """The graph with a share of its edges taken out at random, and as many put in."""
    moved = round(share * graph.edges)
    stay = dice.permutation(graph.edges)[moved:]
    return Graph.from_pairs(
        np.concatenate([graph.ends[stay], dice.integers(0, graph.vertices, (moved, 2))]), graph.vertices
    )


def edges_told(outcomes: list[Outcome]) -> float:
    """Which share of the targeted edges was claimed to be edges."""
    rows = [row for each in outcomes for row in each.evidence.to_pylist()]
    edges = [row for row in rows if row["guess"] == row["right"]]  # guessed and right, or denied and wrong
    return sum(row["claimed"] and row["guess"] for row in edges) / len(edges)


def planted(goals: Goals, graph: Graph, options: argparse.Namespace) -> None:
    dice = np.random.default_rng(1)
    seen: dict[str, list[Outcome]] = {}
    seconds: dict[str, float] = {}

    def search(name: str, release: Any, plan: Planting, tolerance: int | None = 0) -> None:
        outcome, cpu = timed(lambda: attack.planted(release, plan, graph, tolerance=tolerance))
        seen.setdefault(name, []).append(outcome)
        seconds[name] = seconds.get(name, 0.0) + cpu

    for _ in range(options.runs):
        pairs = attack.balanced_pairs(graph, options.pairs)
        plan = Planting.random(graph.vertices, pairs)
        data = plan.into(graph)
        published = attack.without_names(data)
        search("names removed", published, plan)
        search("names removed, nearest", published, plan, None)
        few = Planting.random(graph.vertices, pairs, size=16)
        search("names removed, 16 planted", attack.without_names(few.into(graph)), few)
        for share in (0.01, 0.05):
            search(f"and {share:.0%} of edges changed, exact", perturbed(published, share, dice), plan)
            search(f"and {share:.0%} of edges changed, nearest", perturbed(published, share, dice), plan, None)
        with session_over(data, options.epsilon) as session:
            release = graphs.open(session, "town").synthetic(spend=dp.pure(options.epsilon))
        search("synthetic", release, plan)
        search("synthetic, nearest", release, plan, None)
    print(f"planted: {plan}, {options.runs} runs; baseline 50 %")
    for name, outcomes in seen.items():
        success = float(np.mean([each.success for each in outcomes]))
        claims = sum(each.claims or 0 for each in outcomes) / sum(each.targets for each in outcomes)
        baseline = max(each.baseline for each in outcomes)
        if name.startswith("names removed"):
            told = edges_told(outcomes)
            goal, met = (">= 95 % of edges", told >= 0.95) if name == "names removed" else ("", None)
            goals.line(f"{name}: edges told", f"{told:.1%}", goal, met)
        goal, met = ("<= 55 %", success <= baseline + 0.05) if name.startswith("synthetic") else ("", None)
        goals.line(f"{name}: pairs right", f"{success:.1%}", goal, met)
        goals.line("  claimed, and CPU s", f"{claims:.1%}, {seconds[name] / options.runs:.2f}")


def differencing(goals: Goals, graph: Graph, options: argparse.Namespace) -> None:
    pairs = graph.ends[np.random.default_rng(1).permutation(graph.edges)[: options.trials]]
    epsilon = float(options.epsilon)

    def count(other: Graph) -> float:
        with session_over(other, options.epsilon) as session:
            return graphs.open(session, "town").count("triangles", spend=dp.pure(options.epsilon)).value

    asks: dict[str, Callable[[Graph], float]] = {"exact counts": triangles, f"through a ledger, ε = {epsilon:g}": count}
    allowed = 1 / (1 + math.exp(-epsilon))
    print(f"differencing of triangles: {options.trials} edges, each there or not by a coin; baseline 50 %")
    for name, ask in asks.items():
        outcome, cpu = timed(lambda ask=ask: attack.edge_differencing(ask, graph, pairs))
        if ask is triangles:
            goals.line(f"{name}: right", f"{outcome.success:.1%}", ">= 95 %", outcome.success >= 0.95)
        else:
            most = int(binom.isf(ALARM, outcome.targets, allowed))
            goal = f"ε allows {allowed:.1%}, and {most} of {outcome.targets} by chance"
            goals.line(f"{name}: right", f"{outcome.success:.1%}", goal, outcome.right <= most)
        low, high = outcome.advantage_interval()
        goals.line("  advantage at 95 %, and CPU s", f"{low:+.1%} to {high:+.1%}, {cpu:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    goals, graph = Goals(), load(options.folder / "snap_facebook_combined.txt")
    planted(goals, graph, options)
    differencing(goals, graph, options)
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
