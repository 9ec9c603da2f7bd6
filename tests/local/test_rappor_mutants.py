"""Likely mistakes, each patched into the real code of RAPPOR's two stages: enumeration finds every one of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from local_laws import assert_exact, odds_of
from mutated_modules import mutated

from discreet.local import BasicRappor

SCHEMES = [BasicRappor(3, *stages) for stages in (("0.39", "0.61", "0.45"), ("0.2", "0.9", "0.1"))]

MUTANTS = [
    (
        "rappor._two_stage",
        "draws.packed_coins(self.f / 2, len(bits), size)",
        "draws.packed_coins(self.f, len(bits), size)",
    ),
    ("rappor._two_stage", "return responses ^ draws.packed_coins(self.p, len(responses), size)", "return responses"),
    ("rappor._two_stage", "(responses & ones) | (~responses & zeros)", "(responses & ones) | (responses & zeros)"),
    ("rappor._two_stage", "(responses & ones) | (~responses & zeros)", "responses"),
    ("rappor._two_stage", "ones = _power_up(high, low, reports)", "ones = Fraction(1)"),
    ("rappor._two_stage", "(half * ratio + 1 - half)", "(half * ratio + 1)"),
]


def exact(stages_of) -> None:
    """What the code of both stages costs, and what it says: of one report and of two."""
    for scheme in SCHEMES:
        stages = stages_of(scheme.p, scheme.q, scheme.f)
        kind = type("Patched", (BasicRappor,), {"_stages": stages})
        patched = kind(3, scheme.p, scheme.q, scheme.f)
        assert_exact(odds_of(patched, [0, 1, 2]), stages.epsilon(1))
        assert stages.epsilon(2) <= 2 * stages.epsilon(1) + Fraction(1, 10**30)


@pytest.mark.parametrize(("module", "old", "new"), MUTANTS, ids=[str(place) for place in range(len(MUTANTS))])
def test_mutants_are_found(module, old, new) -> None:
    with pytest.raises(AssertionError):
        exact(mutated(module, old, new).TwoStage)


def test_what_is_not_mutated_passes() -> None:
    exact(mutated("rappor._two_stage", "from __future__", "from __future__").TwoStage)
