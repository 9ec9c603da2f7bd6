"""Whatever can release is in the registry that the other tests here run over."""

from __future__ import annotations

import pytest

from discreet import mechanisms

RELEASING = [name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "release")]


@pytest.mark.parametrize("name", [name for name in RELEASING if name != "Mechanism"])
def test_every_mechanism_is_held_to_these_tests(name: str, cases) -> None:
    assert name in {each.partition(" ")[0] for each in cases}


def test_cases_are_named_for_what_they_build(cases) -> None:
    assert {name: type(case.at(2)).__name__ for name, case in cases.items()} == {
        name: name.partition(" ")[0] for name in cases
    }
