"""Float arithmetic: clipped gradients as they are in real numbers, also where float32 norms cancel."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from discreet.learn.gradients import Exact, Fixed, Float, Normalised, UnitGradients
from discreet.learn.gradients._float import cheapest, scaled_sum, squares
from discreet.learn.gradients._pieces import Series, dense
from learn.gradients.reference import CASES, Case, one_by_one, row_by_row, sums


@pytest.mark.parametrize("clipping", [Fixed(0.7), Normalised(2.0, 0.5)], ids=["fixed", "normalised"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sums_are_of_clipped_gradients(case: Case, clipping: Fixed | Normalised) -> None:
    model, rows = case.model(), case.rows(5, torch.Generator().manual_seed(2))
    single = one_by_one(model, rows)
    wanted = (single * clipping.factors(single.norm(dim=1)).unsqueeze(1)).sum(0)
    for arithmetic, slack in ((Float(), 1e-3), (Exact(), 1e-3)):
        gradients = UnitGradients(model, clipping, arithmetic)
        ours = sums(model, rows, gradients).double() * gradients.step
        assert float((ours - wanted).norm()) <= slack * len(rows) * clipping.bound


def test_a_gradient_whose_inner_products_cancel_is_not_taken_for_a_short_one() -> None:
    # Two times with the same input and gradients that nearly cancel: their sum is 27 long, in squares of 1e8.
    width = 256
    inputs = torch.full((1, 2, width), 1e3)
    outputs = torch.full((1, 2, width), 1e3)
    outputs[:, 1] = -(1e3 - 27 / (1e3 * width))
    piece = Series(outputs, inputs)
    assert cheapest(piece) is piece
    true = float(dense(Series(outputs.double(), inputs.double())).norm())
    assert true > 20
    norm = float(squares(piece).sqrt())
    assert norm >= true
    total = torch.zeros(width * width)
    scaled_sum(piece, Fixed(1.0).factors(torch.tensor([norm], dtype=torch.float64)).float(), total)
    assert float(total.norm()) <= 1


def test_no_clipped_gradient_is_much_longer_than_the_bound() -> None:
    model = nn.Sequential(nn.Embedding(9, 32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32))
    rows = torch.randint(0, 9, (6, 4))
    for row in row_by_row(model, rows, UnitGradients(model, Fixed(1e-3), Float())):
        assert 0.9e-3 <= float(row.double().norm()) <= 1e-3 * (1 + 1e-5)


def test_the_certificate_names_the_arithmetic() -> None:
    assert "in real-number arithmetic" in Float.certificate
    assert "for the numbers that the machine computed" in Exact.certificate
