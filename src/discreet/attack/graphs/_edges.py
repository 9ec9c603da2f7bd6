"""Pairs of vertices whose edge is a secret, and the answers that tell it: counts that differ by that edge."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.attack._outcome import Control, Outcome
from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import triangles
from discreet.noise import fresh_draws, permutation

__all__ = ["are_joined", "balanced_pairs", "checked_pairs", "edge_differencing"]

Ask = Callable[[Graph], float]
"""How large a statistic of a graph is, as well as a release answers that."""

_ROUNDS = 1000


def edge_differencing(
    ask: Ask,
    graph: Graph,
    pairs: ArrayLike,
    *,
    statistic: Callable[[Graph], float] = triangles,
    after: Ask | None = None,
) -> Outcome:
    """Guess whether pairs are joined, from how far a count is from that of the graph without the pair's edge.

    For each pair a coin decides whether its edge is in the graph that is asked about, and that is what is guessed: so
    nothing that is known of the rest of the graph tells it, and without the release every guesser is right for half.
    The attacker knows how far the edge would move the count, and guesses that it is there if the answer is nearer to
    that. If each answer is ε-private for edges, no attacker is right more often than e**ε / (1 + e**ε).

    Parameters
    ----------
    ask
        Answers about a graph; asked once for each pair, each time of another graph, so each time on a budget of its
        own.
    graph, pairs
        The graph, and pairs of its vertices, of shape (p, 2), joined in it or not: the ends of some of its edges, say.
        A pair without common neighbours moves no triangles, and is guessed not to be joined.
    statistic
        What is counted, exactly: triangles, if it is left out.
    after
        Answers about the graph without the pair's edge: differencing in time, before and after it was there. Left out,
        the attacker knows all other edges and counts that without asking.

    Raises
    ------
    ParameterError
        For pairs that are none of the graph's, and answers that are not finite.

    Source: Denning 1980 for counts that differ by one; the limit follows from the definition of ε, as in Wasserman and
    Zhou 2010, theorem 2.4.

    >>> clique = Graph.from_pairs([(a, b) for a in range(9) for b in range(a)])
    >>> edge_differencing(triangles, clique, [(0, 1), (2, 3)]).success
    1.0
    """
    targets = checked_pairs(pairs, graph.vertices)
    joined = are_joined(graph, targets)
    secret = fresh_draws().coins(Fraction(1, 2), len(targets))
    moved, differences = np.empty(len(targets)), np.empty(len(targets))
    for i, (a, b) in enumerate(targets.tolist()):
        other = graph.toggled(a, b)
        absent, present = (other, graph) if joined[i] else (graph, other)
        without = float(statistic(absent))
        moved[i] = float(statistic(present)) - without
        differences[i] = ask(present if secret[i] else absent) - (without if after is None else after(absent))
    if not np.isfinite(differences).all():
        raise ParameterError("an answer is not a finite number: leave that pair out")
    guess = np.where(moved < 0, differences < moved / 2, differences > moved / 2) & (moved != 0)
    right = guess == secret
    columns = [targets[:, 0], targets[:, 1], moved, differences, guess, right]
    evidence = pa.table([pa.array(each) for each in columns], ["a", "b", "moved", "difference", "guess", "right"])
    return Outcome("edge differencing", int(right.sum()), len(targets), Control(0.5), evidence)


def balanced_pairs(graph: Graph, count: int) -> NDArray[np.int64]:
    """Targets for a trial: so many different pairs, half of them joined, the others not; int64 of shape (count, 2).

    Ends of the others are drawn as ends of edges are, so that hubs are about as frequent among them: who does not see
    the release is right for half, and hardly for more with knowledge of degrees. SENSITIVE: the first half are edges.

    Raises `ParameterError` unless `count` is an even number, and the graph has so many edges and, as far as trying
    tells, so many other pairs.

    >>> path = Graph.from_pairs([(0, 1), (1, 2), (2, 3)])
    >>> are_joined(path, balanced_pairs(path, 4)).tolist()
    [True, True, False, False]
    """
    half = count // 2
    if isinstance(count, bool) or count < 2 or count % 2 or half > graph.edges:
        raise ParameterError(f"count is an even number of pairs, from 2 to twice the number of edges, not {count!r}")
    joined = graph.ends[permutation(graph.edges)[:half]]
    ends, draws = graph.ends.ravel(), fresh_draws()
    apart: dict[tuple[int, int], None] = {}
    for _ in range(_ROUNDS):
        drawn = np.sort(ends[draws.below(len(ends), 4 * half)].reshape(-1, 2), axis=1)
        drawn = drawn[(drawn[:, 0] != drawn[:, 1]) & ~are_joined(graph, drawn)]
        apart.update(dict.fromkeys(map(tuple, drawn.tolist())))
        if len(apart) >= half:
            return np.concatenate([joined, np.array(list(apart)[:half], np.int64)])
    raise ParameterError("too few pairs of vertices with edges are not joined to each other: take fewer pairs")


def are_joined(graph: Graph, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each pair of vertices, a row each in any order, is an edge. SENSITIVE."""
    keys = graph.ends[:, 0] * graph.vertices + graph.ends[:, 1]
    if not len(keys):
        return np.zeros(len(pairs), np.bool_)
    wanted = pairs.min(axis=1) * graph.vertices + pairs.max(axis=1)
    return keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted


def checked_pairs(pairs: ArrayLike, vertices: int) -> NDArray[np.int64]:
    """Pairs of different vertices as an array. Raises `ParameterError` for others, for one twice, and for none."""
    targets = np.asarray(pairs)
    if targets.ndim != 2 or targets.shape[1] != 2 or not len(targets) or targets.dtype.kind not in "iu":
        raise ParameterError("targets are pairs of vertices: integers, of shape (p, 2), one pair at least")
    targets = targets.astype(np.int64)
    if targets.min() < 0 or targets.max() >= vertices or (targets[:, 0] == targets[:, 1]).any():
        raise ParameterError(f"targets are pairs of two different vertices, numbers from 0 to {vertices - 1:,}")
    if len(np.unique(np.sort(targets, axis=1), axis=0)) < len(targets):
        raise ParameterError("a pair is a target once: leave the repeats out")
    return targets
