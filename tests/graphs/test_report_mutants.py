"""Mistakes in reports without trust, and in what a synthetic graph is measured by: each is caught by its audit.

A mutant is the real code with one mistake patched in, and it claims what the sound code claims; the audit must refute
that. That the sound code is never refuted is in tests/audit, for all entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest

from discreet.audit.catalog._graph_reports import graph_report_entries
from discreet.graphs.local import LocalDegrees, LocalEdges, LocalStars, LocalTriangles
from discreet.graphs.local._randomized_lists import flip_probability
from discreet.graphs.synthetic import _measurements
from discreet.graphs.synthetic._statistics import UNIT
from discreet.mechanisms import DiscreteLaplace
from discreet.sensitivity import Norms


@dataclass(frozen=True)
class Mutant:
    """A mistake, and the entry whose audit is to catch it."""

    name: str
    entry: str
    where: Any
    attribute: str
    broken: Any
    samples: int = 10_000


MUTANTS = (
    Mutant("an edge at one end alone", "LocalDegrees of two vertices", LocalDegrees, "edge_loss",
           property(lambda self: self.loss)),
    Mutant("bits for twice the spend", "LocalEdges of two vertices", LocalEdges, "flip",
           property(lambda _: flip_probability(Fraction(2)))),
    Mutant("stars with the noise of a degree", "LocalStars of a client", LocalStars, "noise_for",
           lambda self, cap: DiscreteLaplace(1)),
    Mutant("bits of both ends", "LocalTriangles of three vertices", LocalTriangles, "edges",
           property(lambda self: LocalEdges(self.vertices, 2 * self.epsilon)), 1_500),
    Mutant("a count as if it were in whole edges", "LocalTriangles of three vertices", LocalTriangles, "noise_for",
           lambda self, cap: DiscreteLaplace(1), 1_500),
    Mutant("one threshold of two", "SynthesizeGraph of three vertices", _measurements, "SURVIVAL_NORMS",
           Norms(1, 1), 100_000),
    Mutant("clustering moved by one coefficient", "SynthesizeGraph of three vertices", _measurements,
           "CLUSTERING_NORMS", Norms(UNIT, UNIT**2), 40_000),
)  # fmt: skip


def test_each_has_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_the_audit_refutes_a_mutant(mutant: Mutant) -> None:
    with patch.object(mutant.where, mutant.attribute, mutant.broken):
        entry = next(each for each in graph_report_entries() if each.name == mutant.entry)
        verdict = entry.check(samples=mutant.samples)
    print(mutant.name, verdict.nearest)
    assert verdict.violated
