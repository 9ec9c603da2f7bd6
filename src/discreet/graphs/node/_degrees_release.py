"""A distribution of degrees with the privacy of people: what is shown, drawn, stored and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.charts import load_altair
from discreet.errors import ParameterError
from discreet.graphs.node._distribution import blocks_up_to, degree_distribution, share_band
from discreet.graphs.node._pictures import distribution_chart
from discreet.graphs.node._release import cap_in, choice_in, is_listed
from discreet.prices import Additive, Choice, additive_from_json, additive_to_json, choice_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["NodePrivateDegrees"]

_MOST_DEGREE = 2**20


@dataclass(frozen=True, repr=False, eq=False)
class NodePrivateDegrees(JsonRelease):
    """A distribution of degrees, with the privacy of people with all their edges. It may be shown to anyone.

    Attributes
    ----------
    graph
        The graph of the policy.
    choice
        The mechanism that chose the cap; None where it is public.
    cap
        Degrees above it count as the cap or less.
    noise
        The mechanism that drew the noise on each sum.
    sums
        The noisy sums over blocks of degrees, and of vertices, that all the rest is computed from: int64.
    loss, certificate
        As of every release.
    listed
        Whether people are listed in public, so that their number is exact and their edges alone are protected.
    """

    called = "distribution of degrees of people"
    fields = frozenset({"graph", "choice", "cap", "noise", "sums"})
    optional = frozenset({"listed"})
    repeated = frozenset({"graph", "choice", "cap", "noise"})
    left_out = "the distribution follows from the noisy sums"

    graph: str
    choice: Choice | None
    cap: int
    noise: Additive
    sums: NDArray[np.int64]
    loss: Loss
    certificate: Mapping[str, Any]
    listed: bool = False

    def certified(self, certificate: Mapping[str, Any]) -> NodePrivateDegrees:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def measured(self) -> dict[str, Any]:
        """The cap and the noise at it, as its certificate has them."""
        return {"cap": self.cap, "noise": additive_to_json(self.noise)}

    @property
    def cumulative(self) -> NDArray[np.float64]:
        """The estimated share of people of degree at most k, for k = 0 … cap: never falling, 1 at the cap.

        Low degrees have a block each; of wider blocks the average is measured, and it is straight between middles.
        """
        return degree_distribution(self.sums, self.cap, listed=self.listed)[0]

    @property
    def vertices(self) -> float:
        """The number of people, 0 or more: estimated, unless they are listed."""
        return degree_distribution(self.sums, self.cap, listed=self.listed)[1]

    def band(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which shares the distribution lies at each degree, once edges are cut.

        Two arrays, float64, of shape (cap + 1,); at all degrees together with probability `level`, for noise alone.
        Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        error = self.noise.error(1 - (1 - level) / len(self.sums))
        return share_band(self.sums, self.cap, error, listed=self.listed)

    def plot(self, level: float = 0.95) -> Any:
        """An altair chart of the distribution with its band. Raises as `band`, or `MissingExtra` without it."""
        return load_altair().Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        notes = [
            f"band: noise at {100 * level:.10g} %; degrees above {self.cap:,} are cut",
            "a person with all edges is protected",
            f"cost {in_words(self.loss)}",
        ]
        return distribution_chart(self.cumulative, *self.band(level), f"Degrees of {self.graph}", notes)

    def to_arrow(self) -> pa.Table:
        """A row for each degree from 0 to the cap: ``degree``, and ``at_most``, the share of people of it or less."""
        return pa.Table.from_pydict({"degree": np.arange(self.cap + 1), "at_most": self.cumulative})

    def content(self) -> dict[str, Any]:
        """The cap, the noise, and the noisy sums."""
        return {
            "graph": self.graph,
            "choice": None if self.choice is None else choice_to_json(self.choice),
            **self.measured,
            "sums": self.sums.tolist(),
            **({"listed": True} if self.listed else {}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> NodePrivateDegrees:
        """The inverse of `content`."""
        sums, cap = content["sums"], cap_in(content)
        if cap > _MOST_DEGREE or not isinstance(sums, list) or not all(type(each) is int for each in sums):
            raise TypeError("sums")
        if len(sums) != len(blocks_up_to(cap)):
            raise ValueError("sums")
        listed = is_listed(content)
        if certificate and is_listed(certificate) != listed:
            raise ValueError("the release and its certificate disagree")
        noise, numbers = additive_from_json(content["noise"]), np.array(sums, np.int64)
        return cls(str(content["graph"]), choice_in(content), cap, noise, numbers, loss, certificate, listed)

    def derived(self, level: float) -> dict[str, Any]:  # noqa: ARG002
        """The distribution at the end of each block of degrees, and the number of people."""
        shares = self.cumulative
        return {"at_most": [[k, float(shares[k])] for k in self._ends()], "vertices": self.vertices}

    def header(self) -> list[tuple[str, bool]]:
        """A degree, and the share of people that have it or less."""
        return [("degree", True), ("share of people at most", True), ("from", True), ("to", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The distribution as text, at the end of each block of degrees."""
        low, high = self.band(level)
        shares = self.cumulative
        return [[f"{k:,}", f"{shares[k]:.4f}", f"{low[k]:.4f}", f"{high[k]:.4f}"] for k in self._ends()[:first]]

    @property
    def shown_rows(self) -> int:
        """How many blocks of degrees there are, and the cap."""
        return len(blocks_up_to(self.cap))

    def note(self, level: float = 0.95) -> str:
        """What it is, and whom it protects."""
        people = (
            f"{self.vertices:,.0f} people, listed in public" if self.listed else f"about {self.vertices:,.0f} people"
        )
        return (
            f"degrees of {self.graph}, {people}; each is protected with all edges; noise at "
            f"{100 * level:.10g} %, degrees above {self.cap:,} are cut; {in_words(self.loss)}"
        )

    def _ends(self) -> list[int]:
        return [*(end - 1 for end in blocks_up_to(self.cap)[1:]), self.cap]
