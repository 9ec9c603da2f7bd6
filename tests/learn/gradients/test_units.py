"""All rows of a unit are one contribution: the norm of their sum is clipped, not of each."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Exact, Fixed, Float, Normalised, UnitGradients, contributions
from learn.gradients.reference import CASES, Case, curved, one_by_one, sums

ROWS = 6
ASSIGNMENT = torch.tensor([3, 1, 3, -1, 1, 3])


@pytest.mark.parametrize("arithmetic", [Exact(2**44), Float()], ids=["exact", "float"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_unit_s_gradient_is_the_sum_over_its_rows(case: Case, arithmetic: Exact | Float) -> None:
    model, rows = case.model(), case.rows(ROWS, torch.Generator().manual_seed(4))
    single = one_by_one(model, rows)
    for slot in (1, 3):
        theirs = single[slot == ASSIGNMENT].sum(0)
        gradients = UnitGradients(model, Fixed(1.01 * float(theirs.norm())), arithmetic)
        units = torch.where(slot == ASSIGNMENT, slot, -1)
        ours = sums(model, rows, gradients, units=units).double() * gradients.step
        assert float((ours - theirs).norm()) <= 1e-5 * float(single[slot == ASSIGNMENT].norm())


@pytest.mark.parametrize("arithmetic", [Exact(), Float()], ids=["exact", "float"])
def test_the_norm_of_the_sum_is_clipped(arithmetic: Exact | Float) -> None:
    model = nn.Linear(3, 2, bias=False)
    rows = torch.ones(4, 3) * 100
    # Two equal rows clipped one by one would give 2; two that cancel would give 2 before, 0 together.
    for signs, length in (((1.0, 1.0), 1.0), ((1.0, -1.0), 0.0)):
        weights = torch.tensor([*signs, 1.0, 1.0])
        gradients = UnitGradients(model, Fixed(1.0), arithmetic)
        total = sums(
            model, rows, gradients, units=torch.tensor([0, 0, -1, -1]), loss=lambda out, w=weights: out.sum(1) * w
        )
        assert float(total.double().norm()) * gradients.step == pytest.approx(length, abs=3e-4)


@settings(max_examples=20)
@given(st.lists(st.integers(-1, ROWS - 1), min_size=ROWS, max_size=ROWS), st.integers(0, 1000))
def test_units_add_up_and_their_names_do_not_matter(slots: list[int], number: int) -> None:
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 4), nn.LayerNorm(4))
    generator = torch.Generator().manual_seed(number)
    rows = torch.randint(0, 7, (ROWS, 3), generator=generator)
    gradients = UnitGradients(model, Normalised())
    units = torch.tensor(slots)
    total = sums(model, rows, gradients, units=units)
    parts = [sums(model, rows, gradients, units=torch.where(units == slot, units, -1)) for slot in range(ROWS)]
    assert torch.equal(total, sum(parts))
    for part in parts:
        assert sum(int(each) ** 2 for each in part.tolist()) <= Exact().steps ** 2
    names = torch.randperm(ROWS, generator=generator)
    renamed = torch.where(units < 0, -1, names[units.clamp_min(0)])
    assert torch.equal(sums(model, rows, gradients, units=renamed), total)


def test_a_neighbour_is_a_unit_with_all_its_rows() -> None:
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    gradients = UnitGradients(model, Fixed(0.01))
    rows = torch.randn(32, 5)
    units = torch.arange(32) // 3
    present = sums(model, rows, gradients, units=units)
    gone = units != 4
    compact = torch.cat([rows[gone], torch.zeros(3, 5)])
    places = torch.cat([units[gone], torch.full((3,), -1)])
    own = torch.cat([rows[~gone], torch.zeros(29, 5)])
    alone = torch.cat([torch.full((3,), 7), torch.full((29,), -1)])
    difference = present - sums(model, compact, gradients, units=places)
    assert torch.equal(difference, sums(model, own, gradients, units=alone))


@pytest.mark.parametrize(
    ("units", "active", "words"),
    [
        (torch.tensor([0, 1, 4, 0]), None, "each from 0 to 3"),
        (torch.tensor([0, 1, -2, 0]), None, "each from 0 to 3"),
        (torch.tensor([0, 1, 2]), None, "4 integers"),
        (torch.tensor([0.0, 1.0, 2.0, 3.0]), None, "4 integers"),
        (None, torch.tensor([1, 1, 1, 1]), "4 booleans"),
        (None, torch.tensor([True]), "4 booleans"),
        (torch.tensor([0, 1, 2, 3]), torch.ones(4, dtype=torch.bool), "not both"),
    ],
)
def test_other_units_are_refused(units: torch.Tensor | None, active: torch.Tensor | None, words: str) -> None:
    model = nn.Linear(3, 2)
    with pytest.raises(ParameterError, match=words):
        contributions(model, lambda: curved(model(torch.zeros(4, 3))), Fixed(), units=units, active=active)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_batch_without_units_is_a_sum_of_zeros() -> None:
    model = nn.Linear(3, 2)
    for arithmetic in (Exact(), Float()):
        for nobody in ({"units": torch.full((4,), -1)}, {"active": torch.zeros(4, dtype=torch.bool)}):
            total = contributions(
                model, lambda: curved(model(torch.randn(4, 3))), Fixed(), arithmetic=arithmetic, **nobody
            )
            assert not total.any()
