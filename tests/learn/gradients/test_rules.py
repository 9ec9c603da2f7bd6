"""Every rule gives the gradient of one row alone, as torch's own autograd has it in float64."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from discreet.learn.gradients import Exact, Float
from learn.gradients.reference import CASES, Block, Case, FirstOutput, Position, distance, rounding

NEAR = 1e-5
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


pytestmark = [
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN"),
    pytest.mark.filterwarnings("ignore:There is a performance drop because we have not yet implemented"),
]


def fresh(case: Case, number: int = 0) -> tuple[nn.Module, torch.Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(number)
        model = case.model()
    return model, case.rows(4, torch.Generator().manual_seed(number))


@pytest.mark.parametrize("arithmetic", [Exact(2**44), Float()], ids=["exact", "float"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_row_s_gradient_is_its_own(case: Case, arithmetic: Exact | Float) -> None:
    assert distance(*fresh(case), arithmetic) <= NEAR


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(axes: int, groups: int) -> None:
    modes = ("zeros", "circular", "reflect", "replicate") if axes < 3 else ("zeros", "circular")
    for stride, dilation, padding, mode in itertools.product((1, 2), (1, 2), (0, 2, "same"), modes):
        if padding == "same" and stride > 1:
            continue

        def model(stride=stride, dilation=dilation, padding=padding, mode=mode) -> nn.Module:
            first = CONVOLUTIONS[axes - 1](
                4, 4, 3, stride, padding, dilation=dilation, groups=groups, padding_mode=mode
            )
            return nn.Sequential(first, nn.Tanh(), CONVOLUTIONS[axes - 1](4, 2, 1, bias=False))

        case = Case("", model, (4, *[6] * axes))
        assert distance(*fresh(case), Float()) <= NEAR, (stride, dilation, padding, mode)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions(axes: int, groups: int) -> None:
    for (stride, extra, dilation), padding in itertools.product(((1, 0, 1), (2, 1, 1), (2, 2, 3), (3, 0, 2)), (0, 1)):

        def model(stride=stride, extra=extra, dilation=dilation, padding=padding) -> nn.Module:
            layer = TRANSPOSED[axes - 1](
                4, 6, 3, stride, padding, output_padding=extra, groups=groups, dilation=dilation
            )
            return nn.Sequential(nn.Linear(4, 4), layer)

        assert distance(*fresh(Case("", model, (4, *[4] * axes))), Float()) <= NEAR, (stride, extra, dilation, padding)


# Random architectures: stacks of layers that each take (rows, channels, length) and give the same.
CHANNELS, LENGTH = 4, 5


class Turned(nn.Module):
    """A layer over (rows, length, channels), on (rows, channels, length)."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


BRICKS = {
    "linear": lambda: nn.Linear(LENGTH, LENGTH),
    "over channels": lambda: Turned(nn.Linear(CHANNELS, CHANNELS)),
    "convolution": lambda: nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1),
    "grouped": lambda: nn.Conv1d(CHANNELS, CHANNELS, 3, padding=2, dilation=2, groups=2, padding_mode="circular"),
    "transposed": lambda: nn.ConvTranspose1d(CHANNELS, CHANNELS, 3, padding=1),
    "group norm": lambda: nn.GroupNorm(2, CHANNELS, eps=0.1),
    "instance norm": lambda: nn.InstanceNorm1d(CHANNELS, affine=True, eps=0.1),
    "layer norm": lambda: nn.LayerNorm(LENGTH, eps=0.1),
    "rms norm": lambda: nn.RMSNorm(LENGTH, eps=0.1),
    "block": lambda: Turned(Block(CHANNELS)),
    "gru": lambda: Turned(FirstOutput(nn.GRU(CHANNELS, CHANNELS, batch_first=True))),
    "lstm": lambda: Turned(FirstOutput(nn.LSTM(CHANNELS, CHANNELS, batch_first=True))),
    "own parameter": lambda: Position((CHANNELS, LENGTH)),
    "prelu": lambda: nn.PReLU(CHANNELS),
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "in place": lambda: nn.Sequential(nn.Linear(LENGTH, LENGTH), nn.LeakyReLU(0.3, inplace=True)),
}


@st.composite
def architectures(draw: st.DrawFn) -> tuple[nn.Module, torch.Tensor]:
    names = draw(st.lists(st.sampled_from(sorted(BRICKS)), min_size=1, max_size=6))
    number = draw(st.integers(0, 2**20))
    with torch.random.fork_rng():
        torch.manual_seed(number)
        layers = [BRICKS[name]() for name in names]
        if draw(st.booleans()):  # one of them is used once more
            layers.append(layers[draw(st.integers(0, len(layers) - 1))])
        layers.insert(0, nn.Conv1d(CHANNELS, CHANNELS, 1))
        model = nn.Sequential(*layers)
    for place, parameter in enumerate(list(model.parameters())[1:]):
        parameter.requires_grad = not (draw(st.integers(0, 5)) == 0 and place)
    rows = torch.randn(3, CHANNELS, LENGTH, generator=torch.Generator().manual_seed(number))
    return model, rows


def check(architecture: tuple[nn.Module, torch.Tensor]) -> None:
    # Stacks of layers that take nearly constant inputs apart lose digits in float32, in torch's own gradients too.
    for arithmetic in (Exact(2**44), Float()):
        near = distance(*architecture, arithmetic)
        assert near <= NEAR or near <= 4 * rounding(*architecture)


@settings(max_examples=12)
@given(architectures())
def test_random_architectures(architecture: tuple[nn.Module, torch.Tensor]) -> None:
    check(architecture)


@pytest.mark.soak
@settings(max_examples=1_000)
@given(architectures())
def test_a_thousand_random_architectures(architecture: tuple[nn.Module, torch.Tensor]) -> None:
    check(architecture)
