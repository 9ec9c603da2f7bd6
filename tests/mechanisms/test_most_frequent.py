"""The most frequent category: the choice must fit what counts do under the relation."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import Exponential, MostFrequent, PermuteAndFlip
from discreet.privacy import pure
from discreet.sensitivity import Mode

MODE = Mode(("a", "b"))


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip], ids=lambda kind: kind.__name__)
def test_a_choice_that_would_cost_more_than_it_says_is_refused(kind) -> None:
    with pytest.raises(ParameterError, match="monotone under add/remove only"):
        MostFrequent(MODE, kind(1, 1, monotone=True), "substitute")
    with pytest.raises(ParameterError, match="1 or more"):
        MostFrequent(MODE, kind(1, "0.5"), "add_remove")
    with pytest.raises(ParameterError, match="relation"):
        MostFrequent(MODE, kind(1, 1), "other")
    assert MostFrequent(MODE, kind(1, 1), "add_remove").loss() == kind(1, 1).loss()


def test_why_a_monotone_choice_is_refused_under_substitution() -> None:
    """From (1, 20) votes to (0, 21), exp(rate · count) for a falls by e², nearly, at a rate of 1."""
    p, q = (math.exp(a) / (math.exp(a) + math.exp(b)) for a, b in ((1, 20), (0, 21)))
    assert math.log(p / q) == pytest.approx(2, abs=1e-6)
    vote = MostFrequent.calibrate(pure(1), mode=MODE, relation="substitute")
    assert not vote.choice.monotone
