"""The distribution of degrees with node privacy: sums of the cumulative counts over blocks, of one sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.node._caps import OCTAVES, CapScores, choose_cap
from discreet.graphs.node._count import Cap, check_max_degree, norms_of
from discreet.graphs.node._distribution import block_sums, degree_distribution, sums_sensitivity
from discreet.graphs.node._flow import HALF_EDGES, EdgeFlows
from discreet.graphs.node._projection import Name, edge_order, projected_degrees
from discreet.graphs.node._truncation import Truncated
from discreet.prices import Additive, Choice, Prices, Purse, check_spend, with_noise
from discreet.privacy import Loss
from discreet.sensitivity import caps_up_to

__all__ = ["NodeDegrees", "NodeDegreesRelease"]

_CHOICE_SHARE = Fraction(1, 5)
_PER_OCTAVE = 2


@dataclass(frozen=True, slots=True, eq=False)
class NodeDegreesRelease:
    """A distribution of degrees with node privacy.

    Attributes
    ----------
    cap
        Degrees above it count as the cap or less. It cost a part of the spend, or is public.
    sums
        The noisy sums that all the rest is computed from: see `block_sums`.
    noise
        The mechanism that drew the noise on each sum.
    listed
        Whether vertices are public, so that the last sum, of their number, has no noise.
    """

    cap: int
    sums: NDArray[np.int64]
    noise: Additive
    listed: bool = False

    @property
    def cumulative(self) -> NDArray[np.float64]:
        """The share of vertices of degree at most k, for k = 0 … cap: from 0 to 1, never falling, 1 at the cap."""
        return degree_distribution(self.sums, self.cap, listed=self.listed)[0]

    @property
    def vertices(self) -> float:
        """The estimated number of vertices, 0 or more."""
        return degree_distribution(self.sums, self.cap, listed=self.listed)[1]


@dataclass(frozen=True, slots=True)
class NodeDegrees:
    """The distribution of degrees, with node privacy: a person comes or goes with all relations.

    Parameters
    ----------
    max_degree
        A public bound on degrees. A graph that breaks it is answered with as much privacy, and cut.
    spend
        The loss of the release: pure, (ε, δ), ρ or μ.
    cap
        ``"bought"``: a fifth of the spend chooses a cap on degrees up to `max_degree`. ``"public"``: `max_degree`.
    listed
        Whether vertices are public and stay where a person comes or goes with all relations.

    Edges go into a graph in a hashed order, where both ends have room for one more; of this graph, noise goes on sums
    of the cumulative counts over blocks of degrees, wider for higher degrees, at no higher sensitivity than one count
    for each degree has. Raises `ParameterError` for anything else. Source: Day, Li and Lyu 2016 (projection,
    cumulative counts); ``proofs/graph_node_degrees.md``.

    >>> from discreet.privacy import pure
    >>> degrees = NodeDegrees(max_degree=2, spend=pure(1_000_000), cap="public")
    >>> degrees.release(Graph.from_pairs([(0, 1), (1, 2)]), ["ann", "bob", "cyd"], b"salt").cumulative.round(2).tolist()
    [0.0, 0.67, 1.0]
    """

    max_degree: int
    spend: Loss
    cap: Cap = "bought"
    listed: bool = False

    def __post_init__(self) -> None:
        check_spend(self.spend)
        check_max_degree(self.max_degree)
        if self.cap not in ("public", "bought"):
            raise ParameterError(f"cap must be 'public' or 'bought', got {self.cap!r}")
        self.noise(self.max_degree)

    @property
    def caps(self) -> tuple[int, ...]:
        """The caps to choose from."""
        return caps_up_to(self.max_degree, _PER_OCTAVE, OCTAVES) if self.cap == "bought" else (self.max_degree,)

    @property
    def choice(self) -> Choice | None:
        """The mechanism that chooses a cap, by scores that move by 1; None where the cap is public."""
        if self.cap == "public":
            return None
        prices = self._prices(1)
        return prices.choice(prices.total * _CHOICE_SHARE, 1)

    def noise(self, cap: int) -> Additive:
        """The noise on each sum at a cap."""
        prices, choice = self._prices(sums_sensitivity(cap, listed=self.listed)), self.choice
        return prices.measurement(prices.total - (prices.cost(choice.loss()) if choice else 0))

    def loss(self) -> Loss:
        """The loss of a release: within the spend."""
        prices, choice = self._prices(1), self.choice
        cost = prices.cost(
            self.noise(self.max_degree).loss(norms_of(sums_sensitivity(self.max_degree, listed=self.listed)))
        )
        return prices.budget(cost + (prices.cost(choice.loss()) if choice else 0))

    def penalties(self) -> list[int]:
        """What the noise of each cap counts as, in half edges: public.

        Noise moves the distribution as if about a sixth of its deviation in vertices were cut, which lose up to `cap`
        edges each.
        """
        return [int(2 * cap * self.noise(cap).std / 6) for cap in self.caps]

    def release(self, graph: Graph, names: Sequence[Name], salt: bytes) -> NodeDegreesRelease:
        """The noisy distribution. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        `names` and `salt` decide which edges stay, as in `edge_order`; the salt is secret and stays the same. Raises
        `ParameterError` for names that are not different, one for each vertex.
        """
        order = edge_order(graph, names, salt)
        choice, chosen = self.choice, 0
        purse = Purse(self._prices(1))
        if choice is not None:
            purse.pay(choice.loss())
            chosen = choose_cap(choice, self.scores(EdgeFlows(graph).truncated))
        cap = self.caps[chosen]
        purse.pay(self.noise(cap).loss(norms_of(sums_sensitivity(cap, listed=self.listed))))
        return self.measured(projected_degrees(graph, cap, order), cap)

    def scores(self, truncated: Callable[[int], Truncated]) -> CapScores:
        """The caps with their scores, from the values of `EdgeFlows(graph)`. SENSITIVE."""
        return CapScores(self.caps, self.penalties(), [Fraction(0)] * len(self.caps), HALF_EDGES, truncated)

    def measured(self, projected: NDArray[np.int64], cap: int) -> NodeDegreesRelease:
        """The noisy distribution of degrees that are at most the cap. Costs what is left of `loss()`, uncharged."""
        noise = self.noise(cap)
        sums = block_sums(projected, cap)
        noisy = np.append(with_noise(sums[:-1], noise), sums[-1:]) if self.listed else with_noise(sums, noise)
        return NodeDegreesRelease(cap, noisy, noise, self.listed)

    def _prices(self, sensitivity: int) -> Prices:
        return Prices.of_spend(self.spend, norms_of(sensitivity))
