"""Examples of schemes for one value out of many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from discreet.local.examples._example import Example
from discreet.local.frequencies._count_mean import CountMeanSketch
from discreet.local.frequencies._hadamard import HadamardResponse
from discreet.local.frequencies._hadamard_count_mean import HadamardCountMeanSketch
from discreet.local.frequencies._kary import KaryRandomizedResponse
from discreet.local.frequencies._local_hashing import LocalHashing
from discreet.local.frequencies._projective import ProjectiveGeometry
from discreet.local.frequencies._subset import SubsetSelection
from discreet.local.frequencies._unary import OptimizedUnary, SymmetricUnary
from discreet.local.frequencies._warner import Warner
from discreet.local.rappor._basic import BasicRappor
from discreet.local.rappor._rappor import Rappor

__all__ = ["frequencies", "sketches"]

_one = partial(Example, pair=(0, 1))
_text = partial(Example, group="One text", pair=("0", "1"))


def frequencies() -> Iterator[Example]:
    """One value of a public list."""
    listed = partial(_one, group="One value of a list")
    bits = "attained by the reports in which the first value's bit is set and the second's is not"
    yield Example(
        Warner,
        group="Yes or no",
        use="a sensitive question",
        shown="Warner.from_epsilon(1)",
        at=Warner.from_epsilon,
        pair=(False, True),
        note="attained by every true report",
    )
    yield listed(
        KaryRandomizedResponse,
        use="few values: fewer than 3e^ε + 2",
        shown="KaryRandomizedResponse(domain=5, epsilon=1)",
        at=lambda epsilon: KaryRandomizedResponse(domain=5, epsilon=epsilon),
        note="attained by every true report",
    )
    yield listed(
        ProjectiveGeometry,
        use="many values: the least error in the fewest bytes",
        shown="ProjectiveGeometry(domain=12, epsilon=1)",
        at=lambda epsilon: ProjectiveGeometry(domain=12, epsilon=epsilon),
        note="attained by the points on the first value's plane and off the second's",
    )
    yield listed(
        HadamardResponse,
        use="many values, where reading must be quick",
        shown="HadamardResponse(domain=6, epsilon=1)",
        at=lambda epsilon: HadamardResponse(domain=6, epsilon=epsilon),
        note="attained by the indices in the first value's set and not in the second's",
    )
    yield listed(
        SubsetSelection,
        use="a few hundred values: the least error, a bit for each",
        shown="SubsetSelection(domain=6, epsilon=1)",
        at=lambda epsilon: SubsetSelection(domain=6, epsilon=epsilon),
        note="attained by the subsets with the first value and without the second",
    )
    yield listed(
        OptimizedUnary,
        use="a bit for each value, easy to audit by eye",
        shown="OptimizedUnary(domain=4, epsilon=1)",
        at=lambda epsilon: OptimizedUnary(domain=4, epsilon=epsilon),
        note=bits,
    )
    yield listed(
        SymmetricUnary,
        use="a bit for each value, each turned with the same probability, as in RAPPOR",
        shown="SymmetricUnary(domain=4, epsilon=1)",
        at=lambda epsilon: SymmetricUnary(domain=4, epsilon=epsilon),
        note=bits,
    )
    yield listed(
        LocalHashing,
        use="many values, on devices that can hash but have little memory",
        shown="LocalHashing(domain=5, epsilon=1)",
        at=lambda epsilon: LocalHashing(domain=5, epsilon=epsilon),
        note="attained by the hash functions that tell the two values apart; there are too many to try each",
    )
    yield listed(
        BasicRappor,
        use="the same question every day, for years",
        shown='BasicRappor.from_epsilon(domain=4, epsilon=1, longitudinal="once")',
        at=lambda epsilon: BasicRappor.from_epsilon(domain=4, epsilon=epsilon, longitudinal="once"),
        note=bits,
    )


def sketches() -> Iterator[Example]:
    """A text that nobody has listed, and that the collector asks for."""
    yield _text(
        CountMeanSketch,
        use="Apple's sketch: a row of bits",
        shown="CountMeanSketch(1, hashes=3, width=4)",
        at=lambda epsilon: CountMeanSketch(epsilon, hashes=3, width=4),
        note="attained by the hash functions that tell the two texts apart",
    )
    yield _text(
        HadamardCountMeanSketch,
        use="Apple's sketch in one bit",
        shown="HadamardCountMeanSketch(1, hashes=3, width=4)",
        at=lambda epsilon: HadamardCountMeanSketch(epsilon, hashes=3, width=4),
        note="attained where the two texts' bits differ",
    )
    yield _text(
        Rappor,
        use="Google's Bloom filters, the same question every day",
        shown="Rappor.from_epsilon(1, bits=4, hashes=1, cohorts=2)",
        at=lambda epsilon: Rappor.from_epsilon(epsilon, bits=4, hashes=1, cohorts=2),
        note="first reports only: what is remembered for life costs ε, and each report of it less",
    )
