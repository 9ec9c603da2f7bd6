"""Every mistake in private learning is seen by a check that the sound code passes, and costs more than is claimed."""

from __future__ import annotations

import math
from collections.abc import Callable

import learning_checks as checks
import pytest
from learning_mutants import MUTANTS, Mutant

from discreet.errors import DiscreetError

pytestmark = pytest.mark.usefixtures("one_database")


CHECKS = [getattr(checks, name) for name in dir(checks) if name.startswith("check_")]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_seen(mutant: Mutant) -> None:
    with mutant.broken(), pytest.raises((AssertionError, DiscreetError)) as seen:
        mutant.check()
    print(f"{mutant.name}: {seen.value}")


@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_the_sound_code_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_costs_more_than_is_claimed(mutant: Mutant) -> None:
    assert mutant.epsilon() > mutant.claimed()


def test_there_are_many_and_every_check_sees_one() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 20
    assert {each.check for each in MUTANTS} == set(CHECKS)
    assert sum(math.isfinite(each.epsilon()) for each in MUTANTS) >= 10
