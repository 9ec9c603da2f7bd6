"""Masks are secure coins, a row's own; the probe holds them still, and refuses where a row has others' masks."""

from __future__ import annotations

import copy
from unittest.mock import patch

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from discreet import learn, noise
from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, Fixed, UnitGradients, contributions, probe
from discreet.learn.gradients._dropout import CROWD_MASKS, HOSTILE_MASK, RehearsedMasks, fresh_masks, no_masks, withheld

ALARM = 1e-9
NUMBERS = Column((6,))


def squares(model: nn.Module):
    return lambda x: model(x).square().flatten(1).sum(1)


class Halves(nn.Module):
    """One layer that is called twice, on numbers and on an axis of time."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.drop = nn.Linear(6, 16), nn.Linear(4, 4), learn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.drop(self.drop(self.first(x)).view(-1, 4, 4)))


NETWORKS = {
    "between layers": lambda: nn.Sequential(
        nn.Linear(6, 9), nn.ReLU(), learn.Dropout("0.3"), nn.Linear(9, 9), learn.Dropout(0.9), nn.Linear(9, 2)
    ),
    "before all layers": lambda: nn.Sequential(learn.Dropout(0.2), nn.Linear(6, 2)),
    "twice, and over time": Halves,
    "after an LSTM": lambda: nn.Sequential(nn.Unflatten(1, (3, 2)), Recurrent(), learn.Dropout(0.5), nn.Linear(5, 2)),
}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(2, 5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


@pytest.mark.parametrize("by_unit", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_with_it_pass_and_draw_fresh_masks_afterwards(name: str, by_unit: bool) -> None:
    model = NETWORKS[name]()
    probe(model, squares(model), [NUMBERS], 32, arithmetic=Exact(2**40), by_unit=by_unit)
    assert all(each.masks is fresh_masks for each in model.modules() if isinstance(each, learn.Dropout))
    x = torch.ones(32, 6)
    assert not torch.equal(model(x), model(x))


class SharedMask(nn.Module):
    """All rows have one mask."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = learn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drop(torch.ones(1, x.shape[1]))


class OthersMasks(nn.Module):
    """A row is scaled by how much is dropped from all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = learn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drop(torch.ones_like(x)).mean()


class NeighboursMask(OthersMasks):
    """A row has the mask of the place before."""

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drop(torch.ones_like(x)).roll(1, 0)


class TimeFirst(OthersMasks):
    """Masks along an axis of time, which is as long as the batch."""

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(x.transpose(0, 1)).transpose(0, 1)


class Weights(nn.Module):
    """Some of its own weights are dropped for all rows."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.drop = nn.Parameter(torch.ones(32, 6)), learn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.drop(self.weight).T


class Outside(nn.Module):
    """A layer that is no module of the network."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = [learn.Dropout(0.5)]

    def forward(self, x: Tensor) -> Tensor:
        return self.drop[0](x)


class Checkpointed(nn.Module):
    """Its forward is run again in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 6), learn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)


@pytest.mark.parametrize(
    ("layer", "column", "words"),
    [
        (SharedMask(), NUMBERS, "first axis is not the 32 rows"),
        (OthersMasks(), NUMBERS, "depend on other rows"),
        (NeighboursMask(), NUMBERS, "depend on other rows"),
        (TimeFirst(), Column((32, 6)), "depend on other rows"),
        (TimeFirst(), Column((8, 6)), "first axis is not the 32 rows"),
        (Weights(), NUMBERS, "a second mask"),
        (Outside(), NUMBERS, "two runs"),
        (Checkpointed(), NUMBERS, "a second mask"),
    ],
)
def test_masks_that_are_not_a_rows_own_are_refused(layer: nn.Module, column: Column, words: str) -> None:
    model = nn.Sequential(nn.Linear(6, 6), layer)
    with pytest.raises(ParameterError, match=words):
        probe(model, squares(model), [column], 32)
    assert all(each.masks is fresh_masks for each in model.modules() if isinstance(each, learn.Dropout))


def test_a_mask_for_all_rows_is_refused_in_training_too() -> None:
    model = nn.Sequential(nn.Linear(6, 6), SharedMask())
    with pytest.raises(ParameterError, match="first axis"):
        contributions(model, lambda: squares(model)(torch.ones(4, 6)), Fixed(), active=torch.ones(4, dtype=torch.bool))


def test_a_rows_integers_are_a_function_of_the_row_and_its_mask() -> None:
    """With masks of two kinds on equal rows, a sum is that of each kind alone, however they are mixed."""
    model = NETWORKS["between layers"]()
    gradients, drops = UnitGradients(model, Fixed()), [each for each in model if isinstance(each, learn.Dropout)]

    def summed(numbers: list[int], active: list[bool]) -> Tensor:
        total = gradients.zeros()
        for place, each in enumerate(drops):
            each.masks = RehearsedMasks(place, np.array(numbers))
        with gradients.listening(len(numbers)):
            losses = squares(model)(torch.ones(len(numbers), 6))
            gradients.add(losses, total, active=torch.tensor(active))
        return total

    with withheld(drops):
        one, two = CROWD_MASKS
        mixed = summed([one, two] * 16, [True] * 32)
        assert torch.equal(
            mixed, 16 * summed([one, 0] * 16, [True] + [False] * 31) + 16 * summed([two] * 32, [False] * 31 + [True])
        )
        assert not torch.equal(summed([one] * 32, [True] * 32), summed([two] * 32, [True] * 32))


def test_masks_are_exact_coins_of_the_door_for_every_number() -> None:
    layer, x = learn.Dropout("0.3"), torch.ones(1000, 64)
    state = torch.get_rng_state()
    with patch.object(noise, "bernoulli", wraps=noise.bernoulli) as drawn:
        passed = layer(x) != 0
    assert [call.args for call in drawn.call_args_list] == [(1 - layer.p, 64_000)]
    assert torch.equal(state, torch.get_rng_state())
    assert len({tuple(row) for row in passed.tolist()}) == 1000
    assert stats.binomtest(int(passed.sum()), passed.numel(), 0.7).pvalue > ALARM
    assert all(stats.binomtest(int(each), 1000, 0.7).pvalue > ALARM for each in passed.sum(0))
    values = layer(x)
    assert torch.equal(values[values != 0].unique(), torch.tensor([1 / 0.7]))


def test_at_rest_and_at_zero_it_is_nothing() -> None:
    x = torch.ones(3, 2)
    assert learn.Dropout(0.5).eval()(x) is x
    assert learn.Dropout(0)(x) is x
    with withheld([layer := learn.Dropout(0.5)]), pytest.raises(ParameterError, match="second mask"):
        layer(x)


def test_a_mask_drops_the_gradient_too() -> None:
    layer, x = learn.Dropout(0.5), torch.ones(8, 8, requires_grad=True)
    out = layer(x)
    out.sum().backward()
    assert torch.equal(x.grad, out)


def test_a_copy_draws_its_own() -> None:
    layer = learn.Dropout(0.5)
    twin, x = copy.deepcopy(layer), torch.ones(4, 64)
    assert twin.masks is fresh_masks
    assert not torch.equal(twin(x), layer(x))
    assert not layer.state_dict()


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
def test_a_compiled_network_draws_fresh_masks_too() -> None:
    model = nn.Sequential(nn.Linear(6, 64), learn.Dropout(0.5), nn.Linear(64, 2))
    compiled, x = torch.compile(model, backend="eager"), torch.ones(4, 6)
    assert not torch.equal(compiled(x), compiled(x))
    probe(compiled, squares(compiled), [NUMBERS], 32)
    assert not torch.equal(compiled(x), compiled(x))
    compiled.eval()
    assert torch.equal(compiled(x), model(x))


@pytest.mark.parametrize("p", [1, -0.1, 1.5, float("nan"), None])
def test_a_bad_probability_is_refused(p) -> None:
    with pytest.raises(ParameterError, match="p must"):
        learn.Dropout(p)


def test_what_is_no_batch_of_numbers_is_refused() -> None:
    for x in (torch.ones(3, dtype=torch.int64), torch.tensor(1.0)):
        with pytest.raises(ParameterError, match="takes a tensor of floats"):
            learn.Dropout(0.5)(x)


def test_torchs_own_is_refused_and_ours_named() -> None:
    with pytest.raises(ParameterError, match=r"learn\.Dropout"):
        UnitGradients(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), Fixed())


def test_made_up_masks_drop_nothing_everything_and_what_a_public_stream_says() -> None:
    from fractions import Fraction

    numbers = np.array([0, HOSTILE_MASK, 1, 1, 2])
    masks = RehearsedMasks(0, numbers)
    first, second = masks(Fraction(1, 2), (5, 64)), masks(Fraction(1, 2), (5, 64))
    assert first[0].all()
    assert not first[1].any()
    assert (first[2] == first[3]).all()
    assert (first[2] != first[4]).any()
    assert (first[2] != second[2]).any()
    assert (RehearsedMasks(0, numbers)(Fraction(1, 2), (5, 64)) == first).all()
    assert no_masks is not fresh_masks
