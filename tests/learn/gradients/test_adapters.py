"""Adapters of low rank and models as transformers has them: each row's gradient is its own, compiled or not."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, Fixed, Float, UnitGradients, contributions, probe
from learn.gradients.reference import Block, LowRank, curved, distance, sums

NEAR = 1e-5
WORDS, WIDTH, TIMES = 11, 8, 5


class Conv1D(nn.Module):
    """The linear layer of GPT-2, with its weight the other way round, as transformers 5 has it."""

    def __init__(self, given_out: int, taken: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(taken, given_out) / 3), nn.Parameter(torch.zeros(given_out))

    def forward(self, x: Tensor) -> Tensor:
        flat = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], -1)


Conv1D.__module__ = "transformers.pytorch_utils"


class Held(nn.Module):
    """A frozen table, and the two factors of its correction in dictionaries, as peft keeps those of embeddings."""

    def __init__(self, table: nn.Embedding, rank: int) -> None:
        super().__init__()
        self.base = table.requires_grad_(False)
        height, width = table.weight.shape
        self.down = nn.ParameterDict({"default": nn.Parameter(torch.randn(rank, height))})
        self.up = nn.ParameterList([nn.Parameter(torch.randn(width, rank))])

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + nn.functional.embedding(x, self.down["default"].T) @ self.up[0].T


class Language(nn.Module):
    """As BERT and GPT-2: one line of positions for all rows, and the table of words tied to what comes out."""

    def __init__(self, layers: int = 1, *, turned: bool = False, positions: str = "shared") -> None:
        super().__init__()
        self.positions = positions
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TIMES, WIDTH)
        self.kinds = nn.Linear(1, WIDTH)
        self.blocks = nn.Sequential(*(Block(WIDTH) for _ in range(layers)))
        self.turned = Conv1D(WIDTH, WIDTH) if turned else nn.Identity()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        shared = self.places(places if self.positions == "flat" else places.unsqueeze(0))
        shared = (
            shared[0] if self.positions == "first" else shared + self.kinds(self.norm.weight.new_ones(1, x.shape[1], 1))
        )
        return self.out(self.norm(self.turned(self.blocks(self.words(x) + shared))))


def adapted(model: nn.Module, rank: int, chosen: Callable[[str], bool], *, others: bool = False) -> nn.Module:
    """The model with corrections of low rank beside the chosen layers, all else frozen, unless `others` are trained."""
    model.requires_grad_(others)
    for name, layer in list(model.named_modules()):
        if chosen(name) and isinstance(layer, nn.Linear | nn.Embedding):
            parent, _, last = name.rpartition(".")
            wrapped = LowRank(layer, rank) if isinstance(layer, nn.Linear) else Held(layer, rank)
            setattr(model.get_submodule(parent), last, wrapped)
    return model


def words(count: int, number: int = 0) -> Tensor:
    return torch.randint(0, WORDS, (count, TIMES), generator=torch.Generator().manual_seed(number))


MODELS = {
    "shared positions, tied table": Language,
    "turned": lambda: Language(turned=True),
    "adapters": lambda: adapted(Language(2), 2, lambda name: name.endswith(("qkv", "up", "down"))),
    "adapters of all": lambda: adapted(Language(turned=True), 1, lambda _: True),
    "adapters, others trained": lambda: adapted(Language(), 3, lambda name: name.endswith("qkv"), others=True),
}


@pytest.mark.parametrize("arithmetic", [Exact(2**44), Float()], ids=["exact", "float"])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_s_gradient_is_its_own(name: str, arithmetic: Exact | Float) -> None:
    model = MODELS[name]()
    assert distance(model, words(4), arithmetic) <= NEAR


@pytest.mark.parametrize("name", MODELS)
def test_the_probe_accepts(name: str) -> None:
    model = MODELS[name]()
    probe(model, lambda x: curved(model(x)), [Column((TIMES,), values=WORDS)], 32)


@st.composite
def adapted_models(draw: st.DrawFn) -> tuple[nn.Module, Tensor]:
    number = draw(st.integers(0, 2**20))
    with torch.random.fork_rng():
        torch.manual_seed(number)
        model = Language(draw(st.integers(1, 2)), turned=draw(st.booleans()))
        names = sorted(name for name, each in model.named_modules() if isinstance(each, nn.Linear | nn.Embedding))
        chosen = draw(st.sets(st.sampled_from(names), min_size=1))
        model = adapted(model, draw(st.integers(1, 3)), chosen.__contains__, others=draw(st.booleans()))
        if draw(st.booleans()):  # the first block is used once more
            model.blocks.append(model.blocks[0])
    for parameter in list(model.parameters())[1:]:
        if draw(st.integers(0, 5)) == 0:
            parameter.requires_grad = False
    if not any(each.requires_grad for each in model.parameters()):
        model.norm.requires_grad_(True)
    return model, words(3, number)


@settings(max_examples=12, deadline=None)
@given(adapted_models())
def test_random_adapters(architecture: tuple[nn.Module, Tensor]) -> None:
    for arithmetic in (Exact(2**44), Float()):
        assert distance(*architecture, arithmetic) <= NEAR


@pytest.mark.soak
@settings(max_examples=1_000, deadline=None)
@given(adapted_models())
def test_a_thousand_random_adapters(architecture: tuple[nn.Module, Tensor]) -> None:
    for arithmetic in (Exact(2**44), Float()):
        assert distance(*architecture, arithmetic) <= NEAR


def test_what_is_frozen_has_no_coordinates() -> None:
    model = adapted(Language(), 2, lambda name: name.endswith("qkv"))
    assert list(UnitGradients(model, Fixed()).parameters) == [
        "blocks.0.qkv.down.weight",
        "blocks.0.qkv.up.weight",
    ]


@pytest.mark.parametrize("positions", ["flat", "first"])
def test_positions_that_no_row_has_are_refused(positions: str) -> None:
    model = Language(positions=positions)
    with pytest.raises(ParameterError, match=r"or freeze this layer|depend on"):
        probe(model, lambda x: curved(model(x)), [Column((TIMES,), values=WORDS)], 32)
    model.places.requires_grad_(False)
    model.kinds.requires_grad_(False)
    probe(model, lambda x: curved(model(x)), [Column((TIMES,), values=WORDS)], 32)


class Twice(nn.Module):
    """One parameter under two names, neither of which belongs to a layer with a rule."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))
        self.second = self.first

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.first).tanh() + self.second.square()


def test_a_parameter_under_two_names_counts_twice() -> None:
    assert distance(nn.Sequential(nn.Linear(3, WIDTH), Twice()), torch.randn(4, 3), Exact(2**44)) <= NEAR


def compiled(model: nn.Module) -> nn.Module:
    """By the compiler's front end alone, which needs no C++ compiler."""
    return torch.compile(model, backend="eager")  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("inner", [False, True], ids=["all of it", "a part"])
@pytest.mark.parametrize("arithmetic", [Exact(), Float()], ids=["exact", "float"])
def test_a_compiled_network_gives_the_same_bits(arithmetic: Exact | Float, inner: bool) -> None:
    model = Language()
    twin = copy.deepcopy(model)
    if inner:
        twin.blocks = compiled(twin.blocks)
    else:
        twin = compiled(twin)
    with torch.no_grad():
        twin(words(4))  # it has been compiled before anybody listens, without hooks
    ours, theirs = UnitGradients(twin, Fixed(), arithmetic), UnitGradients(model, Fixed(), arithmetic)
    assert torch.equal(sums(twin, words(4), ours), sums(model, words(4), theirs))
    if not inner:
        assert list(ours.parameters) == list(theirs.parameters)


def test_a_compiled_loss_is_no_way_around_hooks() -> None:
    model = Language()
    twin = copy.deepcopy(model)
    losses = torch.compile(lambda x: curved(twin(x)), backend="eager")
    rows, every = words(4), torch.ones(4, dtype=torch.bool)
    losses(rows)
    seen = contributions(twin, lambda: losses(rows), Fixed(), active=every)
    assert torch.equal(seen, contributions(model, lambda: curved(model(rows)), Fixed(), active=every))
