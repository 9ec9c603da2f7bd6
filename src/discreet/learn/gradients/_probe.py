"""A test on made-up public rows: no bit of a row's contribution depends on its place in the batch or on other rows.

Where a network has `Dropout`, a row's contribution is a function of the row and its own masks. So the made-up rows have
made-up masks, which go where the row goes; other rows have others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._clipping import Clipping, Fixed
from discreet.learn.gradients._device import check_exact
from discreet.learn.gradients._dropout import (
    BLANK_MASK,
    CROWD_MASKS,
    HOSTILE_MASK,
    ROW_MASKS,
    Dropout,
    dropouts_of,
    fresh_masks,
    rehearsed,
    withheld,
)
from discreet.learn.gradients._exact import Exact
from discreet.learn.gradients._float import Float
from discreet.learn.gradients._unit_gradients import UnitGradients
from discreet.marginals import PublicStream

__all__ = ["Column", "Losses", "probe"]

Losses = Callable[..., Tensor]
"""From the tensors of a batch, one a column with the rows along the first axis, to a loss each."""

NEAR = 1e-3
"""Largest distance from torch's own gradient, relative to its norm, that counts as rounding."""


@dataclass(frozen=True)
class Column:
    """What one tensor of a batch holds for a row: its shape, and that it counts, below `values`, if it does.

    >>> Column((784,)), Column((), values=10)
    (Column(shape=(784,), values=None), Column(shape=(), values=10))
    """

    shape: tuple[int, ...] = ()
    values: int | None = None
    """Integers from 0 and below this; None means numbers of about the size of 1."""

    def rows(self, count: int, stream: PublicStream) -> Tensor:
        """Made-up rows."""
        uniform = stream.uniform(count * int(np.prod(self.shape, dtype=np.int64))).reshape(count, *self.shape)
        if self.values is not None:
            return torch.from_numpy((uniform * self.values).astype(np.int64))
        return torch.from_numpy((4 * uniform - 2).astype(np.float32))

    def blank(self, count: int) -> Tensor:
        """Rows of zeros, as padding is."""
        return torch.zeros(count, *self.shape, dtype=torch.float32 if self.values is None else torch.int64)

    def hostile(self, count: int) -> Tensor:
        """Rows that a person could only bring to disturb others: the largest numbers, and some that are none."""
        if self.values is not None:
            return self.blank(count) + self.values - 1
        worst = torch.tensor([3e38, -3e38, float("inf"), float("nan"), 1e-44]).repeat(count)[:count]
        return worst.view(count, *(1 for _ in self.shape)) + self.blank(count)


@dataclass(frozen=True)
class Trial:
    """One model at one batch shape. Behind its columns a batch has the number of each row's masks."""

    losses: Losses
    dropouts: Sequence[Dropout]
    gradients: UnitGradients
    columns: Sequence[Column]
    count: int
    by_unit: bool

    @property
    def place(self) -> str:
        """What is wrong where a row's place matters, and what helps."""
        return PLACE + (ON_CPU if self.gradients.device.type == "cpu" else ON_GPU)

    def computed(self, batch: Sequence[Tensor]) -> Tensor:
        """The losses of the rows, with the masks of their numbers."""
        *columns, numbers = batch
        rehearsed(self.dropouts, numbers)
        return self.losses(*(each.to(self.gradients.device) for each in columns))

    def sums(self, batch: Sequence[Tensor], active: Tensor) -> Tensor:
        """The contributions of the active rows, each a unit of its own."""
        if self.by_unit:
            return self.of_units(batch, torch.where(active, torch.arange(self.count), -1))
        total = self.gradients.zeros()
        with self.gradients.listening(self.count):
            self.gradients.add(self.computed(batch), total, active=active.to(total.device))
        return total

    def of_units(self, batch: Sequence[Tensor], units: Tensor) -> Tensor:
        total = self.gradients.zeros()
        with self.gradients.listening(self.count):
            self.gradients.add(self.computed(batch), total, units=units.to(total.device))
        return total

    def equal(self, expected: Tensor, seen: Tensor, words: str) -> None:
        """Raises `ParameterError` with the parameters whose sums differ in any bit."""
        pairs = zip(self.gradients.split(expected).items(), self.gradients.split(seen).values(), strict=True)
        names = [name for (name, a), b in pairs if not torch.equal(a, b)]
        if names:
            listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            raise ParameterError(f"on made-up rows, a row's contributions to {listed} {words}")


RANDOM = (
    "differ between two runs on the same rows: something draws at random (dropout?) or depends on earlier calls; a "
    "layer must keep no state, and draw from learn.Dropout alone, as a module of the network"
)
COMPANY = (
    "depend on other rows of the batch: batch statistics, a loss that compares rows, or something shared that is "
    "as long as the batch has rows; each row's loss must be a function of that row and the parameters alone"
)
PLACE = "depend on the row's place in the batch, as products are added in another order there; "
ON_CPU = (
    "use microbatches of a multiple of 32 rows, fewer threads, and set MKL_CBWR=AUTO in the environment before Python "
    "starts"
)
ON_GPU = "use microbatches of another number of rows, as 128 or 256"


def probe(  # noqa: PLR0913
    model: nn.Module,
    losses: Losses,
    columns: Sequence[Column],
    rows: int,
    *,
    clipping: Clipping | None = None,
    arithmetic: Exact | None = None,
    by_unit: bool = False,
) -> None:
    """Returns if, at batches of `rows` rows, each made-up row's integers are the same in every place and company.

    `losses(*batch)` runs the model on one tensor a column and returns one loss a row; `by_unit` is whether training
    will name the units of rows. About thirty passes at the shape in which training runs, with the threads it
    runs with, on nothing private: costs no privacy. It is a test and no proof: it catches batch statistics, losses
    that compare rows, random layers, products whose order of adding changes with the place of a row, and parameters
    that are used outside their layers.

    Raises `ParameterError` with the parameters that differ and what to do.
    """
    if rows < 4:
        raise ParameterError(f"a batch must have places for 4 rows or more, not {rows}: padding fills what is empty")
    gradients, dropouts = UnitGradients(model, clipping or Fixed(), arithmetic), dropouts_of(model)
    check_exact(gradients.device)
    trial = Trial(losses, dropouts, gradients, tuple(columns), rows, by_unit)
    stream = PublicStream(b"rows of the probe of per-unit gradients")
    state = [each.detach().clone() for each in chain(model.parameters(), model.buffers())]
    crowd = [*(column.rows(rows, stream) for column in columns), torch.tensor(CROWD_MASKS).repeat(rows)[:rows]]
    with withheld(dropouts, fresh_masks):  # fresh ones afterwards, whatever happens meanwhile
        for number in ROW_MASKS:
            row = [*(column.rows(1, stream) for column in columns), torch.tensor([number])]
            same_everywhere(trial, row, crowd)
        same_gradient(trial, model, crowd)
    now = chain(model.parameters(), model.buffers())
    if not all(torch.equal(before, after.detach()) for before, after in zip(state, now, strict=True)):
        raise ParameterError(
            "the model's forward pass changes its parameters or buffers (running statistics?), which would carry what "
            "rows hold past the noise; keep buffers constant while training"
        )


def same_everywhere(trial: Trial, row: list[Tensor], crowd: list[Tensor]) -> None:
    """A row alone, twice; among others, hostile ones too; in every place; and as half of a unit."""
    count, places = trial.count, torch.arange(trial.count)
    hostile = [*(column.hostile(count) for column in trial.columns), torch.full((count,), HOSTILE_MASK)]
    blank = [*(column.blank(count) for column in trial.columns), torch.full((count,), BLANK_MASK)]
    first, every = places == 0, places >= 0
    alone = filled(blank, row, first)
    own = trial.sums(alone, first)
    trial.equal(own, trial.sums(alone, first), RANDOM)
    for others in (crowd, hostile):
        trial.equal(own, trial.sums(filled(others, row, first), first), COMPANY)
    among = filled(crowd, row, first)
    trial.equal(own, trial.sums(among, every) - trial.sums(among, ~first), COMPANY)
    trial.equal(trial.gradients.zeros(), trial.sums(hostile, ~every), "are not zero where the row is padding")
    trial.equal(own * count, trial.sums(filled(crowd, row, every), every), trial.place)
    for others in (crowd, hostile):
        for parity in (0, 1):
            chosen = places % 2 == parity
            trial.equal(own * int(chosen.sum()), trial.sums(filled(others, row, chosen), chosen), trial.place)
    if trial.by_unit:
        near, far = places < 2, (places == 1) | (places == count - 1)
        pair = trial.of_units(filled(crowd, row, near), torch.where(near, 0, -1))
        trial.equal(pair, trial.of_units(filled(hostile, row, far), torch.where(far, count // 2, -1)), trial.place)


def filled(batch: Sequence[Tensor], row: Sequence[Tensor], chosen: Tensor) -> list[Tensor]:
    """The batch with `row`, and its masks, in the chosen places."""
    mixed = [each.clone() for each in batch]
    for tensor, value in zip(mixed, row, strict=True):
        tensor[chosen] = value
    return mixed


def same_gradient(trial: Trial, model: nn.Module, batch: list[Tensor]) -> None:
    """The sum over rows of unclipped gradients is torch's own gradient: no use of a parameter was overlooked."""
    plain = UnitGradients(model, Fixed(1e12), Float())
    total = plain.zeros()
    with plain.listening(trial.count):
        plain.add(trial.computed(batch), total)
    with torch.enable_grad():
        summed = trial.computed(batch).sum()
        wanted = torch.autograd.grad(summed, list(plain.parameters.values()), materialize_grads=True)
    scale = float(torch.cat([each.flatten() for each in wanted]).double().norm())
    for (name, ours), theirs in zip(plain.split(total).items(), wanted, strict=True):
        if not float((ours.double() - theirs.double()).norm()) <= NEAR * scale:
            raise ParameterError(
                f"the per-row gradients of {name} do not add up to torch's own gradient: it is used outside the "
                "forward of the layer that owns it; call the layer itself"
            )
