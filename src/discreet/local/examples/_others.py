"""Examples of schemes for numbers, vectors, several attributes, and texts that are to be found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from discreet.local._reports import Bytes
from discreet.local._scheme import Scheme
from discreet.local.examples._example import Example, in_columns
from discreet.local.frequencies._hadamard import HadamardResponse
from discreet.local.heavy_hitters._fragment_puzzle import SequenceFragmentPuzzle
from discreet.local.heavy_hitters._prefix_extending import PrefixExtending
from discreet.local.heavy_hitters._tree_hist import TreeHist
from discreet.local.multidimensional._key_values import KeyValues
from discreet.local.multidimensional._marginals import Marginals
from discreet.local.multidimensional._sampled_attributes import SampledAttributes
from discreet.local.numbers._means import Duchi, Hybrid, Piecewise
from discreet.local.numbers._square_wave import SquareWave
from discreet.local.vectors._directions import directions
from discreet.local.vectors._priv_unit import PrivUnit

__all__ = ["attributes", "numbers", "words"]


def numbers() -> Iterator[Example]:
    """A number between public bounds, and a vector in a public ball."""
    number = partial(Example, group="A number", pair=(0, 1))
    yield number(
        Duchi,
        use="the mean, at a small ε",
        shown="Duchi(bounds=(0, 1), epsilon=1)",
        at=lambda epsilon: Duchi(bounds=(0, 1), epsilon=epsilon),
        note="attained by either report",
    )
    yield number(
        Piecewise,
        use="the mean, at a large ε",
        shown="Piecewise(bounds=(0, 1), epsilon=1)",
        at=lambda epsilon: Piecewise(bounds=(0, 1), epsilon=epsilon),
        note="attained by the reports near the first value",
    )
    yield number(
        Hybrid,
        use="the mean, at any ε",
        shown="Hybrid(bounds=(0, 1), epsilon=1)",
        at=lambda epsilon: Hybrid(bounds=(0, 1), epsilon=epsilon),
        note="attained by the reports near the first value, of either kind",
    )
    yield number(
        SquareWave,
        use="the whole distribution, its quantiles",
        shown="SquareWave(bounds=(0, 1), epsilon=1)",
        at=lambda epsilon: SquareWave(bounds=(0, 1), epsilon=epsilon),
        note="attained by the reports near the first value",
    )
    yield Example(
        PrivUnit,
        group="A vector",
        use="the mean: of gradients, histograms, embeddings",
        shown="PrivUnit(dimension=2, epsilon=1)",
        at=lambda epsilon: PrivUnit(dimension=2, epsilon=epsilon),
        pair=((1.0, 0.0), (-1.0, 0.0)),
        note="nearly attained by the directions near the first vector: one of few candidates is reported, by a coin",
        seen=_first_coordinate,
    )


def _first_coordinate(scheme: Scheme[Any], rows: Bytes) -> list[float]:
    fields, _ = scheme.layout.unpack(rows)
    book, number = fields.numbers
    lines = directions(book, number >> 1, 2)[:, 0]
    return (lines * (1 - 2 * (number & 1))).tolist()


def attributes() -> Iterator[Example]:
    """Several things of each person."""
    several = partial(Example, group="Several attributes")
    yield several(
        SampledAttributes,
        use="each attribute by itself",
        shown='SampledAttributes({"os": HadamardResponse(3, 1), "hours": Hybrid((0, 24), 1)})',
        at=lambda epsilon: SampledAttributes({"os": HadamardResponse(3, epsilon), "hours": Hybrid((0, 24), epsilon)}),
        pair=({"os": 0, "hours": 0}, {"os": 1, "hours": 24}),
        note="attained by the reports of either attribute",
        alike=in_columns,
    )
    yield several(
        Marginals,
        use="tables of several attributes, how they go together",
        shown='Marginals({"os": 2, "age": 2}, epsilon=1)',
        at=lambda epsilon: Marginals({"os": 2, "age": 2}, epsilon=epsilon),
        pair=({"os": 0, "age": 0}, {"os": 1, "age": 1}),
        note="attained by the reports of the cell of the first values",
        alike=in_columns,
    )
    yield several(
        KeyValues,
        use="how many have each key, and the mean of its number",
        shown="KeyValues(3, bounds=(0, 90), epsilon=1, padding=1)",
        at=lambda epsilon: KeyValues(3, bounds=(0, 90), epsilon=epsilon, padding=1),
        pair=({0: 90}, {1: 0}),
        note="attained by the reports of the first key at its upper bound",
    )


def words() -> Iterator[Example]:
    """Which texts are frequent, when nobody can say which to ask for."""
    word = partial(Example, group="Frequent texts", pair=("a", "b"))
    yield word(
        PrefixExtending,
        use="short texts: prefixes are extended letter by letter",
        shown='PrefixExtending(1, length=2, alphabet="ab", rows=2, width=2)',
        at=lambda epsilon: PrefixExtending(epsilon, length=2, alphabet="ab", rows=2, width=2),
        note="attained by the hash functions that tell the two texts apart",
    )
    yield word(
        TreeHist,
        use="texts of a small alphabet: a tree of prefixes",
        shown='TreeHist(1, length=2, alphabet="ab", rows=2, width=2)',
        at=lambda epsilon: TreeHist(epsilon, length=2, alphabet="ab", rows=2, width=2),
        note="attained where the two texts' bits differ",
    )
    yield word(
        SequenceFragmentPuzzle,
        use="Apple's way: fragments of texts, put together again",
        shown=(
            'SequenceFragmentPuzzle(1, length=2, alphabet="ab", pieces=2, '
            "keep=4, rows=2, width=2, word_rows=2, word_width=2)"
        ),
        at=lambda epsilon: SequenceFragmentPuzzle(
            epsilon, length=2, alphabet="ab", pieces=2, keep=4, rows=2, width=2, word_rows=2, word_width=2
        ),
        note="a report tells of a fragment and of the whole text, each with a share of ε",
    )
