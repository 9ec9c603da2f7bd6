"""A randomised graph: every pair of vertices flipped at random, and sums over pairs with their standard error.

Proof: ``proofs/graph_cuts.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.edge._smooth_count import pure_epsilon
from discreet.graphs.local._randomized_lists import flip_probability
from discreet.noise import fresh_draws
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number, rational

__all__ = ["MOST_VERTICES", "CutEstimate", "RandomizedGraph", "packed_pairs", "pairs_between", "unpacked_pairs"]

MOST_VERTICES = 2**14
"""A graph of so many is stored in 17 MB."""
_LEAST_EPSILON = Fraction(1, 1000)
_MOST_EPSILON = 64

Bits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class CutEstimate:
    """A number of edges between two sets of vertices, from a randomised graph.

    Attributes
    ----------
    value
        The estimate. It is unbiased, and so it may be below 0 or above `pairs`.
    std
        Its standard error, exact: it is the same whichever pairs are joined.
    pairs
        How many pairs of vertices there are between the sets: public.
    flip
        The probability with which each was flipped.
    """

    value: float
    std: float
    pairs: int
    flip: Fraction

    def error(self, level: float = 0.95) -> float:
        """How far the value is from the exact number, at most, with probability `level` or more, for every graph.

        Raises `ParameterError` unless 0 < level < 1. Source: Bernstein's inequality for independent flips, each off by
        1 − flip at most.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        flip, nats = float(self.flip), log(2 / (1 - level))
        largest = (1 - flip) * nats / 3
        spread = self.pairs * flip * (1 - flip)
        return min(largest + sqrt(largest**2 + 2 * spread * nats), self.pairs) / (1 - 2 * flip)


@dataclass(frozen=True, slots=True)
class RandomizedGraph:
    """Randomised response for every pair of vertices: it says whether they are joined, and lies with probability q.

    Parameters
    ----------
    vertices
        Their public number, at most 16,384.
    epsilon
        The loss for one edge, from 0.001 to 64. q is the least multiple of 2**−16 with (1 − q)/q ≤ e**ε.

    Raises `ParameterError` for an argument out of its range. Source: Warner 1965; Gupta, Roth and Ullman 2012, section
    4, for cuts of a randomised graph; ``proofs/graph_cuts.md``.

    >>> RandomizedGraph(100, 1).flip
    Fraction(8813, 32768)
    """

    ledger_counts: ClassVar[Literal["edges"]] = "edges"

    vertices: int
    epsilon: Fraction

    def __init__(self, vertices: int, epsilon: Number) -> None:
        exact = rational(epsilon, "epsilon")
        if isinstance(vertices, bool) or not isinstance(vertices, int) or not 0 <= vertices <= MOST_VERTICES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                f"a randomised graph has at most {MOST_VERTICES:,} vertices, as it keeps a bit for each pair of them, "
                f"and this one has {vertices!r}; ask for mixing by a public attribute, whose size is that of the matrix"
            )
        if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
            raise ParameterError(f"epsilon must be from {float(_LEAST_EPSILON)} to {_MOST_EPSILON}, got {epsilon!r}")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "epsilon", exact)

    @classmethod
    def calibrate(cls, spend: Loss, vertices: int) -> RandomizedGraph:
        """The one that a spend allows: ε of (ε, δ), √(2ρ) of ρ. Raises `ParameterError` for a spend in μ."""
        return cls(vertices, pure_epsilon(spend))

    @property
    def flip(self) -> Fraction:
        """The probability q that a pair is flipped: public."""
        return flip_probability(self.epsilon)

    def loss(self) -> Loss:
        """Pure ε, for one edge."""
        return PureLoss(self.epsilon)

    def std(self, pairs: int) -> float:
        """The standard error of a number of edges among so many pairs of vertices: √(pairs · q (1 − q)) / (1 − 2q)."""
        flip = self.flip
        return sqrt(pairs * flip * (1 - flip)) / float(1 - 2 * flip)

    def estimate(self, joined: int, pairs: int) -> CutEstimate:
        """The number of edges among so many pairs, of which so many are joined in the randomised graph."""
        flip = self.flip
        return CutEstimate(float((joined - flip * pairs) / (1 - 2 * flip)), self.std(pairs), pairs, flip)

    def release(self, graph: Graph) -> Bits:
        """The randomised graph. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Row i has bit j at 1 if i and j < i are joined in it, eight to a byte, the least bit first: uint8, of shape
        (vertices, ⌈vertices/8⌉). Raises `ParameterError` for a graph of another number of vertices, which is public.

        >>> int(RandomizedGraph(3, 64).release(Graph.from_pairs([(0, 1), (1, 2)])).sum()) >= 0
        True
        """
        if graph.vertices != self.vertices:
            raise ParameterError(f"this is for {self.vertices} vertices, and the graph has {graph.vertices}")
        rows = _rows_of(graph)
        draws, flip = fresh_draws(), self.flip
        for vertex in range(1, self.vertices):
            width = -(-vertex // 8)
            rows[vertex, :width] ^= draws.packed_coins(flip, 1, vertex)[0]
        return rows


def _rows_of(graph: Graph) -> Bits:
    rows = np.zeros((graph.vertices, -(-graph.vertices // 8)), np.uint8)
    lower, upper = graph.ends.T
    np.bitwise_or.at(rows, (upper, lower >> 3), (1 << (lower & 7)).astype(np.uint8))
    return rows


def pairs_between(rows: Bits, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> tuple[int, int]:
    """How many pairs with an end in each set are joined in a randomised graph, and how many such pairs there are.

    A pair counts once, also where both ends are in both sets.

    >>> path, every = _rows_of(Graph.from_pairs([(0, 1), (1, 2)])), np.ones(3, bool)
    >>> pairs_between(path, every, every), pairs_between(path, np.array([True, False, False]), every)
    ((2, 3), (1, 2))
    """
    both = first & second
    ways = ((first, second), (second, first), (both, both))
    forward, backward, twice = (_joined(rows, later, earlier) for later, earlier in ways)
    shared = int(both.sum())
    pairs = int(first.sum()) * int(second.sum()) - shared - shared * (shared - 1) // 2
    return forward + backward - twice, pairs


def _joined(rows: Bits, later: NDArray[np.bool_], earlier: NDArray[np.bool_]) -> int:
    return int(np.bitwise_count(rows[later] & np.packbits(earlier, bitorder="little")).sum())


def packed_pairs(rows: Bits) -> bytes:
    """The rows of a randomised graph, one after another, each without what lies after its last pair."""
    return b"".join(row[: -(-vertex // 8)].tobytes() for vertex, row in enumerate(rows))


def unpacked_pairs(packed: bytes, vertices: int) -> Bits:
    """The inverse of `packed_pairs`. Raises `ValueError` for anything else."""
    if not 0 <= vertices <= MOST_VERTICES:
        raise ValueError("vertices")
    rows = np.zeros((vertices, -(-vertices // 8)), np.uint8)
    begin = 0
    for vertex in range(vertices):
        width = -(-vertex // 8)
        row = packed[begin : begin + width]
        if len(row) != width or (vertex % 8 and row[-1] >> vertex % 8):
            raise ValueError("pairs")
        rows[vertex, :width] = np.frombuffer(row, np.uint8)
        begin += width
    if begin != len(packed):
        raise ValueError("pairs")
    return rows
