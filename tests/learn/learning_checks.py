"""What sound learning keeps, as checks that raise `AssertionError` or are refused where a mistake is made.

Each looks at the real code from outside: at the whole numbers before the noise, at what is drawn and when, at what the
optimiser is given, and at the certificate. Coins are scripted and noise is watched; nothing is turned off.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import torch
from learners import CLASS, inputs_for, measurer, some_examples
from learners import taken as chosen_of
from torch import Tensor, nn

import discreet as dp
from discreet import learn, noise
from discreet.errors import DiscreetError
from discreet.learn import _fit, _steps
from discreet.learn._inputs import LEVELS, Input, Inputs
from discreet.learn.algorithms import NaiveBayesAlgorithm
from discreet.learn.correlated import CorrelatedNoise, CyclicPoisson, MinimumSeparation
from discreet.learn.correlated import _noise as drawing
from discreet.learn.gradients import Adaptive, Exact, Fixed, UnitGradients
from discreet.learn.gradients._pieces import Dense, Series
from discreet.learn.preparing import Element, GradientsAlgorithm, PipelineAlgorithm
from discreet.learn.training._rows import Sampler
from discreet.learn.training._update import Update
from discreet.ledger import Run
from discreet.mechanisms import DiscreteLaplace, Gaussian
from discreet.mechanisms.additive import _gaussian as numbers
from discreet.release import verify_loss
from discreet.sensitivity import Norms

SPEND = dp.approx(2, "1e-6")
COUNT = learn.NoisyCount("0.2")
STEPS, RATE = 3, Fraction(1, 2)
UNITS = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3])
"""Three people with three rows at most; the last one comes and goes."""

Loss = Callable[[Tensor, Tensor], Tensor]


def squares(given: Tensor, y: Tensor) -> Tensor:
    return (given - y.unsqueeze(1)).square().sum(1)


def small(start: int = 1) -> nn.Sequential:
    torch.manual_seed(start)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def rows_of(units: np.ndarray | None, count: int = 9) -> learn.Tensors:
    """Rows whose gradients are longer than the clip, and all alike, so that rows of a person do not cancel."""
    x = torch.linspace(1, 2, 3 * count).view(count, 3)
    return learn.Tensors(x, torch.full((count,), 50.0), units, 1 if units is None else 3)


def taken(rows: learn.Tensors, chosen: np.ndarray) -> learn.Tensors:
    units = None if rows.units is None else rows.units[chosen]
    return learn.Tensors(rows.x[chosen], rows.y[chosen], units, rows.rows_per_unit)


@dataclass
class Seen:
    """One training, from outside: what was drawn, what was added up, and what the optimiser was given."""

    drawn: list[np.ndarray] = field(default_factory=list)
    sigmas: list[Fraction] = field(default_factory=list)
    sums: list[np.ndarray] = field(default_factory=list)
    given: list[np.ndarray] = field(default_factory=list)
    coins: list[tuple[Fraction, int]] = field(default_factory=list)
    chosen: list[list[int]] = field(default_factory=list)
    clips: list[float] = field(default_factory=list)
    plan: Any = None
    certificate: Any = None


@contextmanager
def watching(seen: Seen, coins: Callable[[int, int], np.ndarray] | None) -> Iterator[None]:
    draw, move, batches = drawing.rounded_gaussian, Update.apply, Sampler.batches

    def drawn(sigma: Any, size: int) -> np.ndarray:
        seen.sigmas.append(Fraction(sigma))
        seen.drawn.append(draw(sigma, size))
        return seen.drawn[-1].copy()

    def moved(self: Update, exact: np.ndarray, added: np.ndarray, places: int) -> None:
        seen.sums.append(exact.copy())
        move(self, exact, added, places)
        seen.clips.append(self._gradients.clipping.bound)

    def tossed(probability: Any, size: int) -> np.ndarray:
        seen.coins.append((Fraction(probability), size))
        assert coins is not None
        return coins(len(seen.coins), size)

    def rows(self: Sampler, step: int) -> Iterator[Any]:
        seen.chosen.append([])
        for places, slots in batches(self, step):
            seen.chosen[-1].extend(places.tolist())
            yield places, slots

    with ExitStack() as stack:
        stack.enter_context(patch.object(drawing, "rounded_gaussian", drawn))
        stack.enter_context(patch.object(Update, "apply", moved))
        stack.enter_context(patch.object(Sampler, "batches", rows))
        if coins is not None:
            stack.enter_context(patch.object(noise, "bernoulli", tossed))
        yield


def trained(
    rows: learn.Tensors,
    *,
    coins: Callable[[int, int], np.ndarray] | None = None,
    net: nn.Module | None = None,
    loss: Loss = squares,
    **changes: Any,
) -> Seen:
    """A real training of `STEPS` steps."""
    seen = Seen()
    net = small() if net is None else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(
        lambda *_: seen.given.append(torch.cat([each.grad.flatten() for each in net.parameters()]).double().numpy())
    )
    settings = {"spend": SPEND, "steps": STEPS, "rate": RATE, "about": 8, "places": 4, **changes}
    trainer = learn.Trainer(net, optimizer, loss, rows, **settings)
    seen.plan = trainer.plan()
    with watching(seen, coins):
        seen.certificate = trainer.fit().certificate
    return seen


def everybody(_: int, size: int) -> np.ndarray:
    return np.ones(size, bool)


def in_turn(step: int, size: int) -> np.ndarray:
    return np.arange(size) % 2 == step % 2


# What a unit adds.


def check_norms() -> None:
    """No contribution is longer than the bound, whatever a row holds, by Python's integers."""
    for exact in (Exact(), Exact(2**16)):
        for piece, rows in (
            (Dense(torch.ones(1, 5000)), 1),
            (Series(*_cancelling()), 64),
            (Series(torch.full((4, 2, 3), 1e9), torch.full((4, 2, 3), 1e9)), 4),
        ):
            for row in range(rows):
                total = torch.zeros(5000 if rows == 1 else 9 if rows == 4 else 1, dtype=torch.float64)
                exact.add({"w": piece}, Fixed(), torch.arange(rows) == row, {"w": total})
                _within(total, exact)
    for net, shape in ((small(), (3,)), (Twice(), (3,))):
        rows = torch.ones(6, *shape) * torch.tensor([1.0, -30.0, 1e6, 1e-3, math.inf, math.nan]).view(6, 1)
        gradients = UnitGradients(net, Fixed())
        for row in range(6):
            total = gradients.zeros()
            with gradients.listening():
                gradients.add(squares(net(rows), torch.full((6,), 9.0)), total, active=torch.arange(6) == row)
            _within(total, gradients.arithmetic)


class Twice(nn.Module):
    """One layer, used twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x + 0.1 * self.layer(x))


def _cancelling() -> tuple[Tensor, Tensor]:
    """Products over time of 27, as differences of numbers of 9 million: a norm in float32 often takes them for 0."""
    moved = 3000 + torch.linspace(0.004, 0.02, 64)
    outputs = torch.tensor([3000.0, -3000.0]).expand(64, 2).unsqueeze(2)
    return outputs, torch.stack([torch.full((64,), 3000.0), moved], 1).unsqueeze(2)


def _within(total: Tensor, exact: Any) -> None:
    assert bool(torch.isfinite(total).all()), "a contribution is not finite"
    length = sum(int(each) ** 2 for each in total.tolist())
    assert length <= exact.steps**2, (
        f"a contribution is {math.sqrt(length) / exact.steps:.4g} times as long as the bound"
    )


def check_neighbours() -> None:
    """A person more moves the sum by no more than the bound, and by the same whole numbers in any company."""
    for units in (None, UNITS):
        rows = rows_of(units)
        last = np.arange(9) == 8 if units is None else units == 3
        few = ~last & (np.arange(9) < 3)
        sums = [
            trained(taken(rows, chosen), coins=everybody, steps=1).sums[0]
            for chosen in (~last, ~last | last, few, few | last)
        ]
        moved = (sums[1] - sums[0]).astype(object)
        assert int((moved**2).sum()) <= Exact().steps ** 2, "a person moves the sum by more than the bound"
        assert (moved == sums[3] - sums[2]).all(), "what a person adds depends on others"


class Here:
    """Two processes in one: every share of a step is computed here, one after the other."""

    count = 2

    def accept(self, net: nn.Module, arithmetic: str) -> Here:
        return self

    def led(self, batches: Any, net: nn.Module, shards: Any) -> Any:
        return batches

    def begin(self, *_: Any, **__: Any) -> None: ...

    def agree(self) -> None: ...

    def start(self, net: nn.Module, units: int) -> None:
        self.owners = np.arange(units) % 2

    def scatter(self, shares: list[tuple[int, Any]]) -> list[Any]:
        return [each for _, share in shares for each in share]

    def gather(self, exact: np.ndarray) -> np.ndarray:
        return exact

    def move(self) -> None: ...

    def check_still(self) -> None: ...


def check_processes() -> None:
    """A person more moves the sum of two processes by no more than the bound, and it is that of one process."""
    rows, last = rows_of(UNITS), UNITS == 3
    with_last, without, alone = (
        trained(taken(rows, chosen), coins=everybody, steps=1, processes=processes).sums[0]
        for chosen, processes in ((~last | last, Here()), (~last, Here()), (~last | last, None))
    )
    moved = (with_last - without).astype(object)
    assert int((moved**2).sum()) <= Exact().steps ** 2, "a person moves the sum of processes by more than the bound"
    assert (with_last == alone).all(), "two processes have another sum than one"


# What a step draws, and what comes of it.


def check_steps() -> None:
    """Each step has noise of its own, of the size that is certified, whoever is there; and a public divisor."""
    for rows in (rows_of(None, 6), taken(rows_of(None, 6), np.zeros(0, int))):
        seen = trained(rows, coins=in_turn)
        mechanism = seen.plan.mechanism
        assert mechanism.loss.fits(SPEND) and mechanism.sampling == CyclicPoisson(STEPS, RATE)
        assert len(seen.sums) == len(seen.given) == STEPS
        assert set(seen.sigmas) == {mechanism.sigma} and len(seen.drawn) == STEPS, "noise of another size"
        assert len({each.tobytes() for each in seen.drawn}) == STEPS, "noise is drawn once for several steps"
        for exact, added, given in zip(seen.sums, seen.drawn, seen.given, strict=True):
            expected = ((exact + added) / seen.plan.divisor).astype(np.float32)
            assert np.allclose(given, expected, rtol=1e-6, atol=0), (
                "the optimiser sees another number than the noisy sum"
            )
    assert seen.plan.divisor == float(RATE) * 8 * 2**36


def check_noise_law() -> None:
    """As large as the plan says. False alarm 1e-9: the root mean square of 20,000 numbers, within 6.2 errors."""
    seen = trained(taken(rows_of(None), np.zeros(0, int)), net=nn.Linear(3, 1700), loss=lambda out, y: out.sum(1) * y)
    given = np.concatenate(seen.given) * seen.plan.divisor / float(seen.plan.mechanism.sigma)
    spread = math.sqrt(float((given**2).mean()))
    assert abs(spread - 1) < 6.2 / math.sqrt(2 * len(given)), f"noise of {spread:.3g} times what is certified"


def check_count() -> None:
    """A count that is bought is of people, has the noise that is charged beside that of the steps, and divides sums."""
    threes = np.arange(120) // 3
    for units, people, processes in ((None, 40, None), (threes, 40, None), (threes, 40, Here()), (None, 0, None)):
        rows = taken(rows_of(None), np.zeros(0, int)) if not people else rows_of(units, 40 if units is None else 120)
        with counting() as drawn:
            seen = trained(rows, coins=in_turn, about=COUNT, processes=processes)
        mechanism, stated = seen.plan.mechanism, seen.certificate["about"]
        assert len(drawn) == 1, "people are not counted once"
        [(sigma, noise_of_count)] = drawn
        both = Gaussian(sigma).loss(1) + mechanism.loss
        assert both.fits(SPEND) and set(seen.sigmas) == {mechanism.sigma}, "the count and the steps cost more together"
        released = max(people + noise_of_count, 1)
        verify_loss(seen.certificate)
        assert stated == {"mechanism": "Gaussian", "sigma": str(sigma), "count": released}, "another count is certified"
        for exact, added, given in zip(seen.sums, seen.drawn, seen.given, strict=True):
            expected = ((exact + added) / (float(RATE) * released * 2**36)).astype(np.float32)
            assert np.allclose(given, expected, rtol=1e-6, atol=0), "sums are divided by another number than the count"


@contextmanager
def counting() -> Iterator[list[tuple[Fraction, int]]]:
    """The noise of every count: its standard deviation, and what was drawn."""
    drawn, draw = list[tuple[Fraction, int]](), numbers.rounded_gaussian

    def watched(sigma: Any, size: int) -> np.ndarray:
        added = draw(sigma, size)
        drawn.extend((Fraction(sigma), int(each)) for each in added)
        return added

    with patch.object(numbers, "rounded_gaussian", watched):
        yield drawn


def check_count_after_resume() -> None:
    """Who goes on has the count of the process before, and draws none."""
    with (
        tempfile.TemporaryDirectory() as folder,
        dp.connect({"t": people([])}, POLICY) as session,
        counting() as drawn,
    ):
        for most in (6, 1000):
            torch.manual_seed(4)
            net = nn.Linear(1, 2)
            records = session.records("SELECT x, y FROM t", label="y")
            settings = {"spend": SPEND, "steps": 8, "rate": RATE, "about": COUNT, "places": 64}
            private = learn.Private(net, torch.optim.SGD(net.parameters(), lr=0.1), records, **settings)
            steps = 0
            for batch in private.batches(Path(folder) / "net.ckpt", 2):
                steps += not batch.rehearsal
                if steps == most:
                    break
                private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))
    assert len(drawn) == 1, "people are counted again by the process that goes on"


def check_moving_clip() -> None:
    """A person moves a sum and its count of norms together by no more than the bound; noisy counts move the clip."""
    adaptive = Adaptive(start=1.0, weight=1.0)
    for units in (None, UNITS):
        rows = rows_of(units)
        last = np.arange(9) == 8 if units is None else units == 3
        with_last, without = (
            trained(taken(rows, chosen), coins=everybody, steps=1, clip=adaptive) for chosen in (~last | last, ~last)
        )
        moved = (with_last.sums[0] - without.sums[0]).astype(object)
        bound = with_last.plan.mechanism.bound
        assert int((moved**2).sum()) <= bound**2, "a person moves a sum and its count by more than the bound"
        assert abs(moved[-1]) == Exact().steps, "a person whose gradient is clipped is not counted"
    seen = trained(rows_of(None), coins=everybody, clip=adaptive, about=400)
    clip = 1.0
    for exact, added, after in zip(seen.sums, seen.drawn, seen.clips, strict=True):
        share = 0.5 + (exact[-1] + added[-1]) / (2 * Exact().steps * float(RATE) * 400)
        clip *= math.exp(-0.2 * (min(max(share, 0), 1) - 0.5))
        assert math.isclose(after, clip, rel_tol=1e-9), "the clip is moved by another number than the noisy count"


def check_coins() -> None:
    """A coin for each person in each step, of the rate that is charged; all rows of those chosen, and nobody else's."""
    for units, people in ((None, 9), (UNITS, 4)):
        owner = np.arange(9) if units is None else units
        seen = trained(rows_of(units), coins=in_turn)
        assert seen.coins == [(RATE, people)] * STEPS, f"coins were {seen.coins}"
        for step, chosen in enumerate(seen.chosen, 1):
            assert sorted(chosen) == np.flatnonzero(in_turn(step, people)[owner]).tolist(), (
                "others than the coins chose"
            )


def check_groups() -> None:
    """By epochs, everybody takes part once in each, at the same place. False alarm below 1e-9."""
    sampler = Sampler(rows_of(None), MinimumSeparation.epochs(60, 3), 4)
    steps = [{int(row) for rows, _ in sampler.batches(step) for row in rows} for step in range(60)]
    assert all(sum(row in step for step in steps[:20]) == 1 for row in range(9)), "not once in an epoch"
    assert steps[:20] == steps[20:40] == steps[40:], "another place in each epoch"


def check_refusals() -> None:
    """Loops that mix rows, and random layers, are refused before anything is drawn."""

    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(nn.functional.dropout(x, 0.5))

    _refused(
        lambda: trained(rows_of(None), loss=lambda out, y: squares(out - out.mean(0), y)), "a loss that mixes rows"
    )
    _refused(lambda: trained(rows_of(None), net=Dropping()), "dropout by torch's generator")
    normed = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    for bad in (normed, nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2))):
        _refused(lambda bad=bad: UnitGradients(bad, Fixed()), f"{type(bad[-1]).__name__} after {type(bad[0]).__name__}")
    trained(rows_of(None), net=Twice())


def check_masks() -> None:
    """Each row of each step has a mask of its own, by coins of the door. False alarm below 1e-9."""
    net, seen = nn.Sequential(nn.Linear(3, 64), learn.Dropout(0.5), nn.Linear(64, 2)), list[Tensor]()
    net[1].register_forward_hook(lambda _, given, out: seen.append(given[0].detach() * 2 == out.detach()))
    places = 32  # of fewer rows, some processors add up products in an order that depends on the place
    trained(rows_of(None), net=net, loss=lambda out, y: squares(out, y) + 0 * out.sum(1), places=places)
    masks = torch.cat(seen[-STEPS:])  # a microbatch of each step at least
    assert len(masks.unique(dim=0)) == len(masks) == places * STEPS, "two rows have one mask"
    assert abs(float(masks.double().mean()) - 0.5) < 0.12, "masks are no fair coins"

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.drop = nn.Linear(3, 2), learn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x * self.drop(torch.ones(1, 3)))

    _refused(lambda: trained(rows_of(None), net=Shared()), "one mask for all rows")


def check_made_up_masks() -> None:
    """A network in which a row has another's mask is refused."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.drop = nn.Linear(3, 2), learn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x * self.drop(torch.ones_like(x)).roll(1, 0))

    _refused(lambda: trained(rows_of(None), net=Mixed()), "the mask of another row")


def _refused(act: Callable[[], object], what: str) -> None:
    try:
        act()
    except DiscreetError:
        return
    raise AssertionError(f"{what} was not refused")


# What is certified, on records of a session.

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 90, "delta": "1e-3"},
    "tables": {
        "t": {
            "unit": "person",
            "max_rows": 2,
            "columns": {"x": {"type": "float", "bounds": [0, 8]}, "y": {"type": "bool"}},
        }
    },
}


def people(more: list[tuple[int, float, bool]]) -> pa.Table:
    """Forty people with a row or two each, and some rows more."""
    rows = [(i // 2 + 10, 1.0 + i % 6, i % 3 == 0) for i in range(60)] + more
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("person", "x", "y"))})


def check_certificate() -> None:
    """The certificate states the steps, the sampling and the noise that ran."""
    with dp.connect({"t": people([])}, POLICY) as session:
        seen, net = Seen(), nn.Linear(1, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        records = session.records("SELECT x, y FROM t", label="y")
        loss = nn.CrossEntropyLoss(reduction="none")
        trainer = learn.Trainer(net, optimizer, loss, records, spend=SPEND, steps=STEPS, rate=RATE, about=40, places=8)
        with watching(seen, in_turn):
            certificate = trainer.fit().certificate
    verify_loss(certificate)
    stated = certificate["noise"]["taken"]
    assert (stated["steps"], stated["rate"]) == (len(seen.sums), str(seen.coins[0][0])), "other steps than those taken"
    assert {Fraction(certificate["noise"]["sigma"])} == set(seen.sigmas), "other noise than was drawn"


def check_substitute() -> None:
    """A policy whose neighbours are by substitution is refused, or else twice the noise is drawn."""
    with dp.connect({"t": people([])}, {**POLICY, "relation": "substitute"}) as session:
        net = nn.Linear(1, 2)
        records = session.records("SELECT x, y FROM t", label="y")
        optimizer, loss = torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss(reduction="none")
        settings = {"spend": SPEND, "steps": 1, "rate": RATE, "about": 40, "places": 8}
        _refused(lambda: learn.Trainer(net, optimizer, loss, records, **settings).fit(), "a substitution")


def check_resume() -> None:
    """No noise is drawn for a step that is not begun, and a run that goes on draws none again."""
    seen, begun, used = Seen(), [0], list[bytes]()
    begin, draw, follow = Run.begin, drawing.rounded_gaussian, CorrelatedNoise.next

    def began(self: Any, count: int = 1, **after: Any) -> range:
        steps = begin(self, count, **after)
        begun[0] = steps[-1]
        return steps

    def drawn(sigma: Any, size: int) -> np.ndarray:
        assert len(seen.drawn) < begun[0], "noise is drawn before the counter moves"
        seen.drawn.append(draw(sigma, size))
        return seen.drawn[-1]

    def followed(self: CorrelatedNoise, step: int) -> np.ndarray:
        added = follow(self, step)
        used.append(added.tobytes())
        return added

    with (
        tempfile.TemporaryDirectory() as folder,
        dp.connect({"t": people([])}, POLICY) as session,
        patch.object(Run, "begin", began),
        patch.object(drawing, "rounded_gaussian", drawn),
        patch.object(CorrelatedNoise, "next", followed),
    ):
        path = Path(folder) / "net.ckpt"
        for most in (6, 1000):
            torch.manual_seed(4)
            net = nn.Linear(1, 2)
            records = session.records("SELECT x, y FROM t", label="y")
            settings = {"spend": SPEND, "steps": 8, "rate": RATE, "about": 40, "places": 64}
            private = learn.Private(net, torch.optim.SGD(net.parameters(), lr=0.1), records, **settings)
            steps = 0
            for batch in private.batches(path, 2):
                steps += not batch.rehearsal
                if steps == most:
                    break
                private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))
    # The step in which the loop was left is lost, with those after the checkpoint.
    assert begun[0] >= 8 and len(set(used)) == len(used) >= 6, "noise is used again"


def check_restart() -> None:
    """Who goes on with groups that are drawn anew begins a round of them, with noise of its own."""
    taken_in, states = list[tuple[int, set[int]]](), list[Any]()
    choose, resume = Sampler._chosen, CorrelatedNoise.resume

    def chosen(self: Sampler, step: int) -> np.ndarray:
        units = choose(self, step)
        taken_in.append((step, set(units.tolist())))
        return units

    def resumed(self: CorrelatedNoise, strategy: Any, state: Any, begun: int) -> None:
        states.append(state)
        resume(self, strategy, state, begun)

    with (
        tempfile.TemporaryDirectory() as folder,
        dp.connect({"t": people([])}, {**POLICY, "budget": {"rho": 1}}) as session,
        patch.object(Sampler, "_chosen", chosen),
        patch.object(CorrelatedNoise, "resume", resumed),
    ):
        for most in (6, 1000):
            torch.manual_seed(4)
            net = nn.Linear(1, 2)
            records = session.records("SELECT x, y FROM t", label="y")
            settings = {"spend": dp.rho(1), "steps": 12, "epochs": 3, "noise": "auto", "about": 40, "places": 64}
            private = learn.Private(net, torch.optim.SGD(net.parameters(), lr=0.1), records, **settings)
            steps = 0
            for batch in private.batches(Path(folder) / "net.ckpt", 2):
                steps += not batch.rehearsal
                if steps == most:
                    break
                private.step(nn.functional.cross_entropy(net(batch.x), batch.y, reduction="none"))
    assert [step for step, _ in taken_in] == [*range(1, 7), *range(9, 13)], "it goes on within a round"
    assert states == [None, None], "new groups share noise with old ones"
    for start in (1, 5, 9):
        units = [unit for step, some in taken_in if start <= step < start + 4 for unit in some]
        assert len(units) == len(set(units)), "a person takes part twice in a round"


def check_fit(relation: str = "add_remove") -> None:
    """What a person moves a fit's sums by is within the loss that was charged."""
    pairs = [([], [(99, 8.0, True)] * 5), ([], [(99, 1e9, True), (99, -1e9, False)])]
    if relation == "substitute":
        pairs = [([(99, 0.0, False)] * 2, [(99, 8.0, True)] * 2)]
    for pair in pairs:
        (first, added, _), (other, _, _) = (_sums(people(more), relation) for more in pair)
        moved = np.abs(first.astype(object) - other)
        loss = added.loss(Norms(int(moved.sum()), int((moved**2).sum())))
        assert loss.fits(dp.pure(1)), f"a person costs {loss}"


def check_substituted_fit() -> None:
    """The same where a person is replaced by another."""
    check_fit("substitute")


def check_empty_cells() -> None:
    """Cells without rows have noise too. False alarm below 1e-9: 54 cells in all."""
    answers = [_sums(people([]).slice(0, 0), "add_remove")[2] for _ in range(3)]
    assert any(answer.any() for answer in answers), "empty cells have no noise"


def _sums(table: pa.Table, relation: str) -> tuple[np.ndarray, DiscreteLaplace, np.ndarray]:
    """The exact sums of a fit of naive Bayes, their noise, and the answer."""
    exact: list[np.ndarray] = []
    noisy: list[np.ndarray] = []
    measure, release = _steps.Measurer.measure, DiscreteLaplace.release

    def measured(self: Any, name: str, sums: Any, added: Any) -> Any:
        exact.append(np.asarray(sums).astype(np.int64))
        noisy.append(measure(self, name, sums, added))
        return noisy[-1]

    released: list[int] = []

    def counted(self: Any, values: Any) -> Any:
        released.append(len(values))
        return release(self, values)

    with (
        dp.connect({"t": table}, {**POLICY, "relation": relation}) as session,
        patch.object(_fit._Core, "rehearse", lambda core: None),  # which fits no rows, beforehand
        patch.object(_steps.Measurer, "measure", measured),
        patch.object(DiscreteLaplace, "release", counted),
    ):
        model = learn.NaiveBayes(spend=dp.pure(1)).fit(session.records("SELECT x, y FROM t", label="y")).model_
    verify_loss(model.certificate)
    steps = _steps.steps_from_json(model.certificate["steps"])
    assert sum(times for _, times in steps) == len(released) == 1, "an answer is drawn that is not certified"
    noise_of_step = steps[0][0].mechanism
    assert isinstance(noise_of_step, DiscreteLaplace)
    return exact[0], noise_of_step, noisy[0]


def check_preparing() -> None:
    """Of a pipeline, sums move by what is charged, and nothing but noisy sums decides on what is released."""
    algorithm = PipelineAlgorithm()
    _check_prepared(algorithm, inputs_for(algorithm))


def check_features() -> None:
    """The same of a pipeline with features of images, of which each is one row's own."""
    steps = Element("features", GradientsAlgorithm(4, 4)), Element("model", NaiveBayesAlgorithm())
    pixels = tuple(Input(f"p{i}", None, Fraction(0), Fraction(1)) for i in range(16))
    _check_prepared(PipelineAlgorithm(steps), Inputs(pixels, CLASS))


def _check_prepared(algorithm: PipelineAlgorithm, inputs: Inputs) -> None:
    rows = some_examples(inputs, random.Random(1), 40)
    rows.numbers[:] = np.minimum(rows.numbers, LEVELS // 2)
    rows.numbers[-1] = LEVELS  # beyond all others
    first = measurer(algorithm, inputs, dp.pure(1))
    before = algorithm.fit(chosen_of(rows, range(39)), first)
    again = measurer(algorithm, inputs, dp.pure(1), first.answers)
    after = algorithm.fit(rows, again)
    assert all((array == after[name]).all() for name, array in before.items()), "a row more moves what is not noisy"
    cost = Fraction(0)
    for step, (_, one), (_, other) in zip(first.steps, first.exact, again.exact, strict=True):
        moved = np.abs(one - other).ravel().astype(object)
        assert isinstance(step.mechanism, DiscreteLaplace)
        cost += first.prices.cost(step.mechanism.loss(Norms(int(moved.sum()), int((moved**2).sum()))))
    assert cost <= 1, f"a row costs {float(cost):.3g}"


def check_canaries(count: int = 1_000) -> None:
    """One training with canaries, against its claim. False alarm 1e-9, by the confidence."""

    def make(rows: learn.Tensors) -> learn.Trainer:
        width = rows.x.shape[1]
        net = nn.Linear(width, width, bias=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        settings = {"spend": dp.mu("0.25"), "steps": 4, "rate": 1, "about": 500}
        return learn.Trainer(net, optimizer, lambda out, y: (out * y).sum(1), rows, **settings)

    verdict = dp.audit.training(make, dp.audit.gradient_canaries(count, 100.0), confidence=1 - 1e-9)
    assert not verdict.violated, verdict.sentence
