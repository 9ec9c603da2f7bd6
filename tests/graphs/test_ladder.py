"""The ladder: its law by definition, the exact loss on all neighbours of few vertices, draws, and its mistakes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from small import labelled

import discreet as dp
from discreet.errors import ParameterError
from discreet.graphs import Graph, Ladder
from discreet.graphs.counts import Cliques, ClusteringSum, Count, DegreeProducts, FourCycles, Stars, Triangles
from discreet.graphs.edge import LadderLaw, _ladder
from discreet.noise import exp_bounds

COUNTS = [Triangles(4), Stars(4, 2), Stars(4, 3), Cliques(4, 4), FourCycles(4), DegreeProducts(4)]
EVERY = [*COUNTS, Triangles(5), Stars(5, 2)]


def widths_by_definition(statistic: Count, graph: Graph) -> list[int]:
    """A(G, 0), A(G, 1), … up to the distance from which it is the same."""
    profile = statistic.profile(graph)
    return [int(profile.at_distance(k)) for k in range(profile.last + 1)]


def rungs(value: int, widths: list[int], integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rung of each integer by its definition: the least k with |t − value| ≤ A(G, 0) + … + A(G, k − 1)."""
    away, ends = np.abs(integers - value), np.cumsum([0, *widths])
    beyond = len(ends) - 1 - (ends[-1] - away) // widths[-1]
    return np.where(away <= ends[-1], np.searchsorted(ends, away), beyond)


def total_weight(widths: list[int], q: Fraction) -> Fraction:
    """The sum of q**rung over all integers, in closed form."""
    return (
        1 + sum(2 * w * q ** (k + 1) for k, w in enumerate(widths)) + 2 * widths[-1] * q ** (len(widths) + 1) / (1 - q)
    )


def neighbours(graphs: int, edges: int) -> Iterator[tuple[int, int]]:
    return ((i, i ^ (1 << edge)) for i in range(graphs) for edge in range(edges) if i < i ^ (1 << edge))


@pytest.mark.parametrize("statistic", EVERY, ids=str)
def test_no_integer_is_more_than_e_to_the_epsilon_likelier_for_a_neighbour(statistic: Count) -> None:
    """In exact fractions, for q = e**(−ε/2) of 1/2, 9/10 and 1/50: probabilities differ by q**−2 at most."""
    n = statistic.vertices
    graphs, edges = list(labelled(n)), math.comb(n, 2)
    values = [int(statistic.value(graph)) for graph in graphs]
    widths = [widths_by_definition(statistic, graph) for graph in graphs]
    reach = (2 * n + 4) * statistic.most
    integers = np.arange(-reach, max(values) + reach + 1)
    placed = [rungs(value, each, integers) for value, each in zip(values, widths, strict=True)]
    apart = {pair: placed[pair[0]] - placed[pair[1]] for pair in neighbours(len(graphs), edges)}
    assert all(int(np.abs(each).max()) <= 1 for each in apart.values())
    assert any(int(np.abs(each).max()) == 1 for each in apart.values())
    largest = Fraction(0)
    for q in (Fraction(1, 2), Fraction(9, 10), Fraction(1, 50)):
        weights = {tuple(each): total_weight(each, q) for each in widths}
        totals = [weights[tuple(each)] for each in widths]
        cases = {(totals[i], totals[j], int(each.min())) for (i, j), each in apart.items()}
        cases |= {(totals[j], totals[i], int(-each.max())) for (i, j), each in apart.items()}
        ratios = [q**low * other / one for one, other, low in cases]
        assert max(ratios) <= q**-2
        largest = max(largest, max(ratios) * q**2)
    assert largest > Fraction(1, 4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(7, 2)])
def test_the_law_that_is_drawn_has_that_loss(epsilon: Fraction) -> None:
    """Between bounds of 200 digits: the probability of an integer is that of its rung, shared by its integers."""
    bits, statistic = 200, Triangles(4)
    limit = Fraction(1 << bits, exp_bounds(epsilon, bits)[0])
    integers = np.arange(-14, 19)
    laws = [probabilities(Ladder(statistic, epsilon).law(graph), integers, bits) for graph in labelled(4)]
    worst = Fraction(0)
    for pair in neighbours(64, 6):
        for one, other in (pair, pair[::-1]):
            worst = max(worst, *(low / high for (low, _), (_, high) in zip(laws[one], laws[other], strict=True)))
    assert float(limit) ** 0.5 < worst <= limit * (1 + Fraction(1, 2**120))


Bounds = tuple[Fraction, Fraction]


def shares(law: LadderLaw, bits: int, count: int) -> list[Bounds]:
    """Bounds of the probability of each rung as it is drawn: those that are told apart, and then geometric ones."""
    tails = [
        (Fraction(1), Fraction(1)),
        *((Fraction(low, 1 << bits), Fraction(high, 1 << bits)) for low, high in law.tails(bits)),
    ]
    apart = [(max(low - later[1], Fraction(0)), high - later[0]) for (low, high), later in pairwise(tails)]
    q_low, q_high = (Fraction(each, 1 << bits) for each in exp_bounds(law.rate, bits))
    low, high = tails[-1]
    rest = [(low * (1 - q_high) * q_low**j, high * (1 - q_low) * q_high**j) for j in range(count - len(apart))]
    return [*apart, *rest]


def probabilities(law: LadderLaw, integers: NDArray[np.int64], bits: int) -> list[Bounds]:
    """Bounds of the probability of each integer, as it is drawn."""
    each: dict[int, Bounds] = {}
    for rung, (low, high) in enumerate(shares(law, bits, 30)):
        places = placed_on(law, rung)
        for t in places:
            each[t] = low / len(places), high / len(places)
    return [each[int(t)] for t in integers]


class Counted:
    """Stands for draws: each asks for a number below n, and is given the next one."""

    def __init__(self) -> None:
        self.asked, self.place = 0, 0

    def below(self, n: int, size: int) -> NDArray[np.int64]:
        assert size == 1
        self.asked = n
        return np.array([self.place])


def placed_on(law: LadderLaw, rung: int) -> list[int]:
    """All integers of a rung as they are drawn, in order."""
    if rung == 0:
        return [law._integer(0, Counted())] if law.value.denominator == 1 else []  # type: ignore[arg-type]
    if not law.width(rung):
        return []
    draws, drawn = Counted(), []
    while not draws.asked or draws.place < draws.asked:
        drawn.append(law._integer(rung, draws))  # type: ignore[arg-type]
        draws.place += 1
    return sorted(drawn)


@pytest.mark.parametrize("statistic", COUNTS, ids=str)
def test_what_is_drawn_is_the_rung_by_its_definition(statistic: Count) -> None:
    epsilon, bits, near = Fraction(3, 4), 180, Fraction(1, 2**168)
    q_low, q_high = (Fraction(each, 1 << bits) for each in exp_bounds(epsilon / 2, bits))
    for graph in list(labelled(statistic.vertices))[::5]:
        law, widths = Ladder(statistic, epsilon).law(graph), widths_by_definition(statistic, graph)
        value, total = int(statistic.value(graph)), (total_weight(widths, q_low), total_weight(widths, q_high))
        for rung, (low, high) in enumerate(shares(law, bits, 25)):
            places = placed_on(law, rung)
            assert (rungs(value, widths, np.array(places, np.int64)) == rung).all()
            assert len(set(places)) == (1 if rung == 0 else 2 * law.width(rung))
            exact = len(places) * q_low**rung / total[1], len(places) * q_high**rung / total[0]
            assert exact[0] - near <= low <= high <= exact[1] + near
        assert all(high - low <= 8 for low, high in law.tails(bits))


def test_rungs_of_one_width_are_geometric() -> None:
    """6,000 draws: each frequency within 7 standard deviations, 1e-9 for all of them."""
    law = LadderLaw(Fraction(0), lambda _: 1, 0, Fraction(1, 2))
    drawn = np.bincount([law._later() for _ in range(6_000)], minlength=12)[:12] / 6_000
    right = (1 - math.exp(-0.5)) * np.exp(-0.5 * np.arange(12))
    assert (np.abs(drawn - right) <= 7 * np.sqrt(right / 6_000)).all()


@pytest.mark.parametrize("value", [Fraction(7, 3), Fraction(5)])
def test_rungs_around_a_count_that_may_be_no_integer(value: Fraction) -> None:
    widths = [2, 3, 3, 5]
    law = LadderLaw(value, lambda k: widths[min(k, 3)], 3, Fraction(1, 4))
    ends = np.cumsum([0, *widths, 5, 5])
    placed = [(t, rung) for rung in range(7) for t in placed_on(law, rung)]
    assert len({t for t, _ in placed}) == len(placed) == 2 * sum(widths) + 20 + (value == 5)
    for t, rung in placed:
        assert abs(t - value) <= ends[rung] and (rung == 0 or abs(t - value) > ends[rung - 1])
    weights = np.array([math.exp(-rung / 4) for _, rung in placed])
    far = [(t, rung) for rung in range(7, 400) for t in placed_on(law, rung)]
    weights = np.concatenate([weights, [math.exp(-rung / 4) for _, rung in far]])
    away = np.array([abs(float(t - value)) for t, _ in placed + far])
    assert law.mean_error == pytest.approx(weights @ away / weights.sum(), rel=1e-12)
    assert law.root_mean_square_error**2 == pytest.approx(weights @ away**2 / weights.sum(), rel=1e-12)


def sampled_law(law: LadderLaw, far: int) -> tuple[NDArray[np.float64], int]:
    """The probabilities of integers as far as that from the count, and the first of them."""
    places = {t: math.exp(-float(law.rate) * rung) for rung in range(200) for t in placed_on(law, rung)}
    total, first = sum(places.values()), math.ceil(law.value) - far
    return np.array([places[t] / total for t in range(first, math.floor(law.value) + far + 1)]), first


@pytest.mark.parametrize(
    ("statistic", "graph", "epsilon"),
    [
        (Triangles(6), Graph.from_pairs([(a, b) for a in range(5) for b in range(a)], 6), 1),
        (Stars(5, 2), Graph.from_pairs([(0, 1), (0, 2), (0, 3)], 5), "0.4"),
        (Triangles(5), Graph.from_pairs([(0, 1)], 5), 3),
    ],
    ids=str,
)
def test_draws_follow_the_law(statistic: Count, graph: Graph, epsilon: object) -> None:
    """A false alarm of χ² has probability 1e-9."""
    law = Ladder(statistic, epsilon).law(graph)  # type: ignore[arg-type]
    expected, first = sampled_law(law, 60)
    size = 20_000
    drawn = np.array(law.draw(size))
    outside = 1 - expected.sum()
    counts = np.bincount(np.clip(drawn - first, -1, len(expected)) + 1, minlength=len(expected) + 2)
    rare = expected * size < 20
    seen = [*counts[1:-1][~rare], counts[1:-1][rare].sum() + counts[0] + counts[-1]]
    right = size * np.array([*expected[~rare], expected[rare].sum() + outside])
    assert stats.chisquare(seen, right * size / right.sum()).pvalue > 1e-9
    assert law.mean_error == pytest.approx(np.abs(drawn - int(law.value)).mean(), rel=0.06)


def test_digits_that_do_not_decide_are_continued() -> None:
    """With words of 3 digits nearly every draw needs more of them: the law is the same, at a false alarm of 1e-9."""
    with patch.object(_ladder, "_WORD", 3):
        law = Ladder(Triangles(6), 1).law(Graph.from_pairs([(0, 1), (1, 2), (0, 2)], 6))
        drawn = np.array(law.draw(6_000))
    expected, first = sampled_law(law, 12)
    counts = np.bincount(np.clip(drawn - first, -1, len(expected)) + 1, minlength=len(expected) + 2)
    right = np.array([*expected, 1 - expected.sum()]) * len(drawn)
    assert stats.chisquare([*counts[1:-1], counts[0] + counts[-1]], right).pvalue > 1e-9


def test_small_and_large_graphs_and_counts() -> None:
    assert Ladder(Triangles(2), 1).release(Graph.from_pairs([(0, 1)])) == 0
    assert Ladder(ClusteringSum(0), 1).release(Graph.from_pairs([])) == 0
    hubs = Graph.from_pairs([(hub, leaf) for hub in (0, 1) for leaf in range(2, 400)])
    huge = Ladder(Cliques(400, 40), 1).law(hubs)
    assert max(map(abs, huge.draw(50))) > 2**64 and math.isfinite(huge.mean_error)
    clustering = Ladder(ClusteringSum(400), 2).law(hubs.toggled(0, 1))
    assert clustering.value.denominator > 1
    assert (
        abs(
            np.mean(np.abs(np.array(clustering.draw(4_000), float) - float(clustering.value))) / clustering.mean_error
            - 1
        )
        < 0.2
    )


def test_a_draw_of_thousands_of_rungs_is_quick() -> None:
    """5,000 vertices, at the smallest ε too: the bounds of all rungs, once A is known, and a draw."""
    widths = [60 + k for k in range(4_939)]
    for epsilon in ("0.000001", "0.1", 1, 64):
        law = LadderLaw(Fraction(48_260), lambda k: widths[min(k, 4_938)], 10_000, Fraction(epsilon) / 2)
        start = time.process_time()
        law.draw(1)
        assert time.process_time() - start < 0.5  # of which it takes a tenth, on a slow machine too


def test_spends_and_arguments() -> None:
    assert Ladder.calibrate(dp.pure("0.3"), Triangles(9)) == Ladder(Triangles(9), "0.3")
    assert Ladder.calibrate(dp.approx("0.3", "1e-6"), Triangles(9)).epsilon == Fraction(3, 10)
    for spend in (dp.pure(1), dp.approx(1, 1e-6), dp.rho("0.1"), dp.mu("0.5")):
        assert Ladder.calibrate(spend, Triangles(9)).loss().fits(spend)
    for epsilon in (0, 65, "1e-7", -1):
        with pytest.raises(ParameterError, match="epsilon"):
            Ladder(Triangles(9), epsilon)
    with pytest.raises(ParameterError, match="statistic"):
        Ladder("triangles", 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="vertices"):
        Ladder(Triangles(9), 1).release(Graph.from_pairs([(0, 1)]))


N = 12
HUBS = Graph.from_pairs([(hub, leaf) for hub in (0, 1) for leaf in range(2, N)])
PATH = Graph.from_pairs([(0, 1)], N)
STAR = Graph.from_pairs([(0, leaf) for leaf in range(1, 6)], N)
_before, _law = LadderLaw.before, Ladder.law


def without_offsets(law: LadderLaw, rung: int) -> int:
    """Rung k is at the A(G, k − 1) integers next to the count."""
    return 0


def one_rung_late(law: LadderLaw, rung: int) -> int:
    """The offset of a rung leaves out the width of the one before it."""
    return _before(law, max(rung - 1, 1))


def at_full_rate(mechanism: Ladder, graph: Graph) -> LadderLaw:
    """Weights fall by e**−ε at a rung, as if the sum of weights were the same for all graphs."""
    law = _law(mechanism, graph)
    law.rate = mechanism.epsilon
    return law


def of_one_width(mechanism: Ladder, graph: Graph) -> LadderLaw:
    """All rungs are as wide as the local sensitivity."""
    law = _law(mechanism, graph)
    local = mechanism.statistic.steps(graph)(0)
    return LadderLaw(law.value, lambda _: local, 0, law.rate)


def of_present_edges(mechanism: Ladder, graph: Graph) -> LadderLaw:
    """Edges that could be added are forgotten: hubs that are not joined count for nothing."""
    law, statistic = _law(mechanism, graph), mechanism.statistic
    moves = [abs(statistic.value(graph) - statistic.value(graph.toggled(int(a), int(b)))) for a, b in graph.ends]
    start = int(max(moves))
    return LadderLaw(law.value, lambda k: min(start + k, statistic.most), 2 * statistic.vertices, law.rate)


@dataclass(frozen=True)
class Mutant:
    """A mistake, where it is patched in, and the neighbours on which it shows.

    `loss` is what it loses on them, over integers within 100 of the counts; where that is not all, it is more.
    """

    name: str
    broken: tuple[Any, str, Any]
    statistic: Count
    pair: tuple[Graph, Graph]
    loss: float
    epsilon: Fraction = Fraction(1)

    @property
    def sound(self) -> Ladder:
        return Ladder(self.statistic, self.epsilon)

    def draw(self, data: Graph, size: int) -> list[int]:
        """Independent outputs of the broken code."""
        with patch.object(*self.broken):
            return self.sound.law(data).draw(size)


JOINED, LONGER, LARGER = HUBS.toggled(0, 1), PATH.toggled(1, 2), STAR.toggled(0, 7)
MUTANTS = (
    Mutant("without offsets", (LadderLaw, "before", without_offsets), Triangles(N), (HUBS, JOINED), math.inf),
    Mutant("offsets one rung late", (LadderLaw, "before", one_rung_late), Triangles(N), (HUBS, JOINED), 1.474),
    Mutant("the full rate", (Ladder, "law", at_full_rate), Stars(N, 2), (PATH, LONGER), 1.343),
    Mutant("one width", (Ladder, "law", of_one_width), Stars(N, 2), (STAR, LARGER), 0.231, Fraction(1, 10)),
    Mutant("present edges", (Ladder, "law", of_present_edges), Triangles(N), (HUBS, JOINED), 2.216),
)


def law_of_integers(law: LadderLaw) -> dict[int, float]:
    """The log probability of each integer, by the code as it stands, but for those on rungs from 300 on."""
    weights: dict[int, float] = {}
    for rung in range(300):
        places, total = placed_on(law, rung), 2 * law.width(rung) if rung else 1
        for t in places:
            weights[t] = weights.get(t, 0.0) + total / len(places) * math.exp(-float(law.rate) * rung)
    later = 2 * law.width(300) * math.exp(-300 * float(law.rate)) / -math.expm1(-float(law.rate))
    total = sum(weights.values()) + later
    return {t: math.log(weight / total) for t, weight in weights.items()}


def exact_loss(mutant: Mutant) -> float:
    """The largest log ratio over integers near the counts; infinite if one is drawn of one graph alone."""
    one, other = (law_of_integers(mutant.sound.law(graph)) for graph in mutant.pair)
    near = range(-100, 101)
    if any((t in one) != (t in other) for t in near):
        return math.inf
    return max(abs(one[t] - other[t]) for t in near if t in one)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_loses_more_than_it_claims_and_the_sound_code_does_not(mutant: Mutant) -> None:
    assert 0.4 * mutant.epsilon < exact_loss(mutant) <= mutant.epsilon
    with patch.object(*mutant.broken):
        assert exact_loss(mutant) == pytest.approx(mutant.loss, abs=1e-3)
    assert mutant.loss > 1.05 * mutant.epsilon


@pytest.mark.parametrize(
    ("mutant", "samples"),
    [
        (MUTANTS[0], 2_000),
        *(pytest.param(each, 40_000, marks=pytest.mark.soak) for each in MUTANTS[1:3]),
        (MUTANTS[4], 40_000),
        pytest.param(MUTANTS[3], 200_000, marks=pytest.mark.soak),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_the_audit_refutes_a_mutant(mutant: Mutant, samples: int) -> None:
    """It would refute what is sound with probability 1e-9."""
    verdict = dp.audit.check(mutant, [mutant.pair], dp.pure(mutant.epsilon), samples=samples, confidence=1 - 1e-9)
    assert verdict.violated, verdict.sentence
    assert verdict.epsilon_lower > mutant.epsilon
