"""Questions about a graph with the privacy of people: checked under public terms, charged once, then measured."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from discreet import noise
from discreet.errors import QueryError
from discreet.graphs.node._count import Cap, NodeCount
from discreet.graphs.node._degrees import NodeDegrees
from discreet.graphs.node._degrees_release import NodePrivateDegrees
from discreet.graphs.node._release import NodePrivateCount
from discreet.graphs.node._table import PeopleTable, people_table
from discreet.policy import Policy
from discreet.prices import choice_to_json, price_as_loss
from discreet.privacy import Loss, budget_of, to_json
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedNodeCount", "PreparedNodeDegrees", "prepare_node_count", "prepare_node_degrees"]

_STEPS = 2
_MOST_STARS = 2**27
"""Of all people as centres, with all others as leaves: work that does not tell how many edges somebody has."""


@dataclass(frozen=True)
class PreparedNodeCount(PreparedQuestion):
    """A count of a graph of people that was checked; see `discreet.release.Prepared`."""

    kind = "graph_node_count"

    table: PeopleTable
    statistic: str
    mechanism: NodeCount
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"graph": self.table.name, "statistic": self.statistic, **_terms(self.table, self.mechanism)}

    def answer(self, context: ReleaseContext) -> NodePrivateCount:
        """Read the edges, count under a cap, and add noise. Its loss is charged."""
        context.step(0, _STEPS)
        graph, _ = self.table.read(context)
        context.step(1, _STEPS)
        drawn = self.mechanism.release(graph)
        bare = NodePrivateCount(
            self.table.name, self.statistic, self.mechanism.choice, drawn.cap, drawn.noise, drawn.noisy, self.loss, {}
        )
        statement = {**self.stated, **self.asked, **bare.measured, "protects": "node"}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> NodePrivateCount:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return NodePrivateCount.from_bytes(payload)


@dataclass(frozen=True)
class PreparedNodeDegrees(PreparedQuestion):
    """Degrees of a graph of people that were checked; see `discreet.release.Prepared`."""

    kind = "graph_node_degrees"

    table: PeopleTable
    mechanism: NodeDegrees
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {"graph": self.table.name, "degrees": "distribution", **_terms(self.table, self.mechanism)}

    def answer(self, context: ReleaseContext) -> NodePrivateDegrees:
        """Read people and edges, bound degrees, and add noise. Its loss is charged."""
        context.step(0, _STEPS)
        graph, names = self.table.read(context)
        context.step(1, _STEPS)
        drawn = self.mechanism.release(graph, names, noise.secret(16))
        measured = (drawn.cap, drawn.noise, drawn.sums)
        bare = NodePrivateDegrees(
            self.table.name, self.mechanism.choice, *measured, self.loss, {}, listed=self.table.listed
        )
        statement = {**self.stated, **self.asked, **bare.measured, "protects": "node"}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> NodePrivateDegrees:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return NodePrivateDegrees.from_bytes(payload)


def prepare_node_count(terms: Terms, graph: str, statistic: str, spend: Loss, cap: Cap) -> PreparedNodeCount:
    """Check a count under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
    table = people_table(terms.policy, graph)
    _accept(terms, table)
    stars = re.fullmatch(r"([23])-stars", statistic) if isinstance(statistic, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if stars is not None:
        leaves = int(stars[1])
        people = table.most_people
        if leaves == 3 and (people is None or people * math.comb(people, leaves) > _MOST_STARS):
            allowed = "any number, as it lists no names" if people is None else f"{people:,}"
            raise QueryError(
                f"one person with many edges makes {statistic} of so many leaves that memory or time would tell of "
                f"them: they are counted among at most {_most_people(leaves):,} possible people, and the policy allows "
                f"{allowed}; count edges, triangles or 2-stars"
            )
        mechanism = NodeCount("stars", table.max_degree, spend, cap, leaves)
    elif statistic in ("edges", "triangles", "components"):
        if statistic == "components":
            _refuse_without_people(table, "components")
            if table.listed:
                raise QueryError(
                    f"components of {table.name} are refused: its people are listed in public, so that one who leaves "
                    "the others stays as a component, which moves their number by more; list people in a private table"
                )
        mechanism = NodeCount(statistic, table.max_degree, spend, cap)
    else:
        raise QueryError(
            f"a graph that protects people has no statistic {statistic!r}; count edges, triangles, 2-stars, 3-stars or "
            "components"
        )
    return PreparedNodeCount(table, statistic, mechanism, _charged(spend), terms.policy)


def prepare_node_degrees(terms: Terms, graph: str, spend: Loss, cap: Cap) -> PreparedNodeDegrees:
    """Check degrees under public terms. Raises as `prepare_node_count`, also where no table says who there is."""
    table = people_table(terms.policy, graph)
    _accept(terms, table)
    _refuse_without_people(table, "degrees")
    mechanism = NodeDegrees(table.max_degree, spend, cap, table.listed)
    return PreparedNodeDegrees(table, mechanism, _charged(spend), terms.policy)


def _refuse_without_people(table: PeopleTable, asked: str) -> None:
    if table.people is None:
        raise QueryError(
            f"{asked} of {table.name} are refused: without a list of people, who has no edge is not there, so that one "
            f"person takes others away with them; name the column of people under [graphs.{table.name}], as "
            'nodes = "people.id"'
        )


def _most_people(leaves: int) -> int:
    return max(n for n in range(2_000) if n * math.comb(n, leaves) <= _MOST_STARS)


def _charged(spend: Loss) -> Loss:
    """What is charged: all of the spend, but for a δ beside ρ or μ, which nothing here needs."""
    kind, (amount, *_) = budget_of(spend)
    return spend if kind in ("pure", "approx") else price_as_loss(kind, amount)


def _accept(terms: Terms, table: PeopleTable) -> None:
    for plan in table.plans():
        terms.accept(plan.rows.bounded)


def _terms(table: PeopleTable, mechanism: NodeCount | NodeDegrees) -> dict[str, Any]:
    choice = mechanism.choice
    return {
        **({"listed": True} if table.listed else {}),
        "max_degree": mechanism.max_degree,
        "spend": to_json(mechanism.spend),
        "cap_is": mechanism.cap,
        "choice": None if choice is None else choice_to_json(choice),
    }
