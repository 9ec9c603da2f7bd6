"""Sums of clipped per-unit gradients of a model, and how they are laid out: the part of training below the noise."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients._clipping import Clipping
from discreet.learn.gradients._device import check_workspace, device_of, repeatable
from discreet.learn.gradients._exact import Exact
from discreet.learn.gradients._float import Float
from discreet.learn.gradients._recorder import Recorder

__all__ = ["UnitGradients", "contributions"]


class UnitGradients:
    """Sums over units of clipped gradients, in one flat vector of all trained parameters.

    Nothing here draws noise or charges: what it returns is private. Raises `ParameterError` for a model that couples
    rows (batch normalisation), draws at random (dropout), or has no trained parameter.
    """

    def __init__(self, model: nn.Module, clipping: Clipping, arithmetic: Exact | Float | None = None) -> None:
        self.clipping = clipping
        self.arithmetic = Exact() if arithmetic is None else arithmetic
        self._recorder = Recorder(model)
        self.device = device_of(self._recorder.model)
        """Where the model is, and its sums are."""
        if isinstance(self.arithmetic, Exact):
            check_workspace(self.device)
        self.parameters: Mapping[str, nn.Parameter] = self._recorder.parameters
        """The trained ones, by name, in the order of the flat vector."""
        self.size = sum(parameter.numel() for parameter in self.parameters.values())
        """Coordinates in all."""

    @property
    def step(self) -> float:
        """What one step of a sum is worth in the loss's gradient: multiply sums by it."""
        return self.clipping.bound / self.arithmetic.steps if isinstance(self.arithmetic, Exact) else 1.0

    def zeros(self) -> Tensor:
        """An empty sum: float64 with whole numbers for exact arithmetic, float32 otherwise."""
        return torch.zeros(self.size, dtype=self.arithmetic.dtype, device=self.device)

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector, one of each parameter's shape."""
        parts = flat.split([parameter.numel() for parameter in self.parameters.values()])
        return {name: part.view_as(each) for part, (name, each) in zip(parts, self.parameters.items(), strict=True)}

    @contextmanager
    def listening(self, rows: int = 1) -> Generator[None]:
        """Around the forward pass and `add`: the model is as before afterwards, whatever happened.

        `rows` is how many the batch has: what the model looks up once for all of them it then has once for each.
        """
        exact = isinstance(self.arithmetic, Exact)
        with repeatable(self.device) if exact else nullcontext(), self._recorder.listening(rows):
            yield

    def add(self, losses: Tensor, total: Tensor, *, units: Tensor | None = None, active: Tensor | None = None) -> int:
        """Adds to `total` each unit's clipped gradient of the sum of its rows' losses; calls the backward pass.

        `losses` has one entry a row. Either every row is a unit of its own, and `active` (booleans, one a row) leaves
        out padding; or `units` names each row's unit by a number from 0 up to, not including, the number of rows, and
        -1 marks padding. Which of the two must be a public choice: roundings differ. Memory without `units` is that of
        layers' inputs and gradients, and in exact arithmetic rows × parameters of all layers but linear ones without
        an axis of time and embeddings; with `units`, of linear ones too. An exact sum holds `Exact.most_units` rows in
        all calls together: begin another before that, and add those as int64. Returns how many more units a `Fixed`
        clipping left as they were than it clipped: private too.

        Raises `ParameterError` for losses that are no vector, and layers that do not keep rows apart.
        """
        if losses.dim() != 1:
            raise ParameterError(
                "private training needs the losses of the rows one by one, a vector: use reduction='none', and take no "
                "mean or sum"
            )
        rows = len(losses)
        if isinstance(self.arithmetic, Exact) and rows > self.arithmetic.most_units:
            raise ParameterError(
                f"{rows} rows at once are more than sums of {self.arithmetic.steps} steps hold exactly; use smaller "
                "microbatches or fewer steps"
            )
        owners, used = slots(units, active, rows, self.device)
        with torch.autocast(self.device.type, enabled=False):
            pieces = self._recorder.backward(losses, owners, self.arithmetic.arrange)
            return self.arithmetic.add(pieces, self.clipping, used, flat_views(self.split(total)))


def slots(units: Tensor | None, active: Tensor | None, rows: int, device: torch.device) -> tuple[Tensor | None, Tensor]:
    """The slot of each row, with padding in a slot of its own and None if each row is its own; and the slots in use."""
    if units is None:
        used = torch.ones(rows, dtype=torch.bool, device=device) if active is None else active
        if used.shape != (rows,) or used.dtype != torch.bool:
            raise ParameterError(f"active must be {rows} booleans, one a row")
        return None, used
    if active is not None:
        raise ParameterError("give units, with -1 for padding, or active, not both")
    if units.shape != (rows,) or units.dtype != torch.int64 or bool(((units < -1) | (units >= rows)).any()):
        raise ParameterError(
            f"units must be {rows} integers (int64), one a row, each from 0 to {rows - 1}, or -1 for padding"
        )
    owners = torch.where(units < 0, rows, units)
    return owners, torch.zeros(rows + 1, dtype=torch.bool, device=device).index_fill_(0, owners, value=True)[:rows]


def flat_views(views: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: view.view(-1) for name, view in views.items()}


def contributions(  # noqa: PLR0913
    model: nn.Module,
    losses: Callable[[], Tensor],
    clipping: Clipping,
    *,
    units: Tensor | None = None,
    active: Tensor | None = None,
    arithmetic: Exact | Float | None = None,
) -> Tensor:
    """The sum of the units' clipped gradients before any noise, a flat vector of all trained parameters.

    For tests and audits. `losses` runs the model and returns one loss a row. In exact arithmetic the entries are whole
    numbers, and of two batches that differ by one unit they differ by that unit's own integers, bit for bit.
    """
    gradients = UnitGradients(model, clipping, arithmetic)
    total = gradients.zeros()
    named = active if units is None else units
    with gradients.listening(1 if named is None else len(named)):
        gradients.add(losses(), total, units=units, active=active)
    return total
