"""Counts of edges, triangles, stars and components with node privacy: cut at a cap, public or bought, plus noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.node._caps import OCTAVES, CapScores, choose_cap
from discreet.graphs.node._flow import HALF_EDGES, EdgeFlows
from discreet.graphs.node._patterns import Stars, Triangles
from discreet.graphs.node._truncation import PACKED, PackedPatterns, Resolution, Truncated
from discreet.graphs.node.forests import FORESTS, SpanningForests
from discreet.graphs.node.stars import TwoStars
from discreet.prices import Additive, Choice, Prices, Purse, check_spend
from discreet.privacy import Loss
from discreet.sensitivity import Norms, caps_up_to

__all__ = ["Cap", "NodeCount", "NodeCountRelease", "Statistic", "check_max_degree", "largest_cap", "norms_of"]

Statistic = Literal["edges", "triangles", "stars", "components"]
Cap = Literal["public", "bought"]

CHOICE_SHARE = Fraction(2, 5)
"""Of the spend, for the choice of a cap."""
_MOST_LEAVES = 3
_MOST_DEGREE = 2**20
_LEAST_FOREST_CAP = 4
"""Of components: below it there is little noise to save, much is cut, and the program is hard to solve."""
_MOST_LOAD = 2**40
_NOISE_LEVEL = "0.7"
"""What a cap cuts off is weighed against the error of its noise at this level."""
_PER_DOUBLING = Fraction(4, 5)
"""A cap twice as large is chosen exp(4/5) times less often, other things equal."""


@dataclass(frozen=True, slots=True)
class NodeCountRelease:
    """A count with node privacy.

    Attributes
    ----------
    noisy
        The noisy count in steps: right on average for what the cap leaves, or up to the solver's tolerance above it; of
        components below it.
    cap
        The most of the statistic at one vertex that is counted. It cost a part of the spend, or is public.
    noise
        The mechanism that drew the noise, in steps.
    steps
        How many steps make 1.
    """

    noisy: int
    cap: int
    noise: Additive
    steps: int

    @property
    def value(self) -> float:
        """The noisy count."""
        return self.noisy / self.steps

    def error(self, level: float = 0.95) -> float:
        """The half-width of the noise at a level. What the cap cuts off, or the solver leaves, comes on top of it."""
        return self.noise.error(level) / self.steps


@dataclass(frozen=True, slots=True)
class NodeCount:
    """A count of subgraphs of one shape, or of components, with the privacy of a person with all relations.

    Parameters
    ----------
    statistic
        ``"edges"``, ``"triangles"``, ``"stars"``: a vertex with `leaves` of its neighbours; or ``"components"``.
    max_degree
        A public bound on degrees. A graph that breaks it is answered with as much privacy, and cut.
    spend
        The loss of the release: pure, (ε, δ), ρ or μ.
    cap
        ``"bought"``: two fifths of the spend choose how much to count at one vertex, from powers of two up to what
        `max_degree` implies, and from 1/4096 of it; of components from 4. ``"public"``: that largest one.
    leaves
        Of a star, 2 or 3.

    The count is the largest total of weights from 0 to 1 of the subgraphs such that no vertex has more than the cap:
    the count itself if no vertex has more, and moved by at most the cap by a vertex that comes or goes. Components are
    the vertices less the edges of a largest forest under the cap: they are moved by at most the cap less 1. Raises
    `ParameterError` for anything else. Source: Kasiviswanathan, Nissim, Raskhodnikova and Smith 2013, section 4;
    Raskhodnikova and Smith 2016; Kalemaj, Raskhodnikova, Smith and Tsourakakis 2023; ``proofs/graph_node_counts.md``,
    ``proofs/graph_node_components.md``, ``proofs/graph_node_caps.md``.

    >>> from discreet.privacy import pure
    >>> count = NodeCount("edges", max_degree=3, spend=pure(1_000_000), cap="public")
    >>> round(count.release(Graph.from_pairs([(0, 1), (1, 2)])).value)
    2
    """

    statistic: Statistic
    max_degree: int
    spend: Loss
    cap: Cap = "bought"
    leaves: int = 2

    def __post_init__(self) -> None:
        check_spend(self.spend)
        check_max_degree(self.max_degree)
        if self.statistic not in ("edges", "triangles", "stars", "components"):
            raise ParameterError(
                f"statistic must be 'edges', 'triangles', 'stars' or 'components', got {self.statistic!r}"
            )
        if self.cap not in ("public", "bought"):
            raise ParameterError(f"cap must be 'public' or 'bought', got {self.cap!r}")
        if isinstance(self.leaves, bool) or not isinstance(self.leaves, int) or not 2 <= self.leaves <= _MOST_LEAVES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a star has 2 or {_MOST_LEAVES} leaves, got {self.leaves!r}")
        if self.largest_cap > _MOST_LOAD:
            raise ParameterError(
                f"a vertex of {self.max_degree:,} edges may be in {self.largest_cap:,} of these subgraphs, and at most "
                f"{_MOST_LOAD:,} can be counted: lower max_degree"
            )
        self.noise(self.largest_cap)

    @property
    def largest_cap(self) -> int:
        """How many of the subgraphs, or of a forest's edges, one vertex can be in, by `max_degree`."""
        shape = f"{self.leaves}-stars" if self.statistic == "stars" else self.statistic
        return largest_cap(shape, self.max_degree)

    @property
    def caps(self) -> tuple[int, ...]:
        """The caps to choose from."""
        if self.cap == "public":
            return (self.largest_cap,)
        least = _LEAST_FOREST_CAP if self.statistic == "components" else 1
        return tuple(cap for cap in caps_up_to(self.largest_cap, octaves=OCTAVES) if cap >= least)

    @property
    def resolution(self) -> Resolution:
        """The grid of the values before noise."""
        return {"edges": HALF_EDGES, "components": FORESTS}.get(self.statistic, PACKED)

    @property
    def choice(self) -> Choice | None:
        """The mechanism that chooses a cap, by scores that move by 1; None where the cap is public."""
        if self.cap == "public":
            return None
        prices = self._prices(1)
        return prices.choice(prices.total * CHOICE_SHARE, 1)

    def noise(self, cap: int) -> Additive:
        """The noise at a cap, in steps."""
        prices, choice = self._prices(self.resolution.sensitivity(cap)), self.choice
        return prices.measurement(prices.total - (prices.cost(choice.loss()) if choice else 0))

    def loss(self) -> Loss:
        """The loss of a release: within the spend. Source: adaptive composition of the choice and the noise."""
        prices, choice = self._prices(1), self.choice
        cost = prices.cost(self.noise(self.largest_cap).loss(norms_of(self.resolution.sensitivity(self.largest_cap))))
        return prices.budget(cost + (prices.cost(choice.loss()) if choice else 0))

    def penalties(self) -> list[int]:
        """What each cap costs in error by its noise, in steps: public."""
        return [self.noise(cap).error(_NOISE_LEVEL) for cap in self.caps]

    def handicaps(self) -> list[Fraction]:
        """By how much a larger cap's score is raised: it errs more where it is chosen by chance. Public."""
        choice = self.choice
        return [
            2 * _PER_DOUBLING * (cap.bit_length() - 1) / choice.epsilon if choice else Fraction(0) for cap in self.caps
        ]

    def error(self, level: float = 0.95) -> float | None:
        """The half-width of the noise at a level, if the cap is public; a bought one is not known before."""
        return self.noise(self.largest_cap).error(level) / self.resolution.steps if self.cap == "public" else None

    def release(self, graph: Graph) -> NodeCountRelease:
        """The noisy count. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        How long it takes, and how much memory, depends on the graph: for 3-stars, on the triples of leaves that are
        above a cap that is looked at; for the others, on edges and triangles.
        """
        scores = self.scores(self.extension(graph).truncated)
        prices, choice, chosen = self._prices(1), self.choice, 0
        purse = Purse(prices)
        if choice is not None:
            purse.pay(choice.loss())
            chosen = choose_cap(choice, scores)
        cap = self.caps[chosen]
        noise = self.noise(cap)
        purse.pay(noise.loss(norms_of(self.resolution.sensitivity(cap))))
        (noisy,) = noise.release([self.resolution.measured(scores.solve(chosen).value, graph.vertices)])
        return NodeCountRelease(noisy, cap, noise, self.resolution.steps)

    def scores(self, truncated: Callable[[int], Truncated]) -> CapScores:
        """The caps with their scores, from the values of `extension(graph)`. SENSITIVE."""
        return CapScores(self.caps, self.penalties(), self.handicaps(), self.resolution, truncated)

    def extension(self, graph: Graph) -> EdgeFlows | PackedPatterns | SpanningForests | TwoStars:
        """The truncated counts of a graph, exact or certified, before any noise. SENSITIVE."""
        match self.statistic:
            case "edges":
                return EdgeFlows(graph)
            case "triangles":
                return PackedPatterns(Triangles(graph.vertices, graph.ends))
            case "stars":
                stars = Stars(graph.vertices, graph.ends, self.leaves)
                return TwoStars(stars) if self.leaves == 2 else PackedPatterns(stars)
            case "components":
                return SpanningForests(graph)

    def _prices(self, sensitivity: int) -> Prices:
        return Prices.of_spend(self.spend, norms_of(sensitivity))


def largest_cap(shape: str, degree: int) -> int:
    """How many of the subgraphs one vertex can be in, if degrees are at most so many. Raises `KeyError` for no shape.

    >>> [largest_cap(shape, 4) for shape in ("edges", "triangles", "2-stars", "3-stars", "components")]
    [4, 6, 18, 16, 4]
    """
    stars = {f"{k}-stars": math.comb(degree, k) + degree * math.comb(degree - 1, k - 1) for k in (2, 3)}
    forests = max(degree, _LEAST_FOREST_CAP)
    return max({"edges": degree, "triangles": math.comb(degree, 2), "components": forests, **stars}[shape], 1)


def norms_of(sensitivity: int) -> Norms:
    """The norms of numbers of which all together move by so many steps."""
    return Norms(l1=sensitivity, l2_squared=sensitivity**2)


def check_max_degree(max_degree: object) -> None:
    """Raise `ParameterError` for a bound on degrees that is none."""
    if isinstance(max_degree, bool) or not isinstance(max_degree, int) or not 1 <= max_degree <= _MOST_DEGREE:
        raise ParameterError(
            f"node privacy needs a public max_degree, an integer from 1 to {_MOST_DEGREE:,}, got {max_degree!r}"
        )
