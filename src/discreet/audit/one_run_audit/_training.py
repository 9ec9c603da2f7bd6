"""Canaries through a real trainer: one training on made-up people, audited by all that it gives away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.one_run_audit._canaries import Canaries, audit_training
from discreet.audit.one_run_audit._verdict import OneRunVerdict
from discreet.errors import ParameterError
from discreet.privacy import Loss
from discreet.rational import Number

if TYPE_CHECKING:
    from torch import Tensor

    from discreet.learn import Tensors, Trainer

__all__ = ["gradient_canaries", "training"]

_AT_ONCE = 64
"""How many canaries' gradients are held in memory together."""


def training(  # noqa: PLR0913 (all but three by keyword)
    make_trainer: Callable[[Tensors], Trainer],
    canaries: Tensors,
    claim: Loss | None = None,
    *,
    delta: Number | None = None,
    confidence: Number = 0.95,
    guesses: int | tuple[int, int] | list[int | tuple[int, int]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> OneRunVerdict:
    """Train a network once, with the canaries that their coins chose, and hold that run to its claim. See `one_run`.

    The adversary knows all rows, sees every noisy gradient and all weights before it, and scores a canary by how far
    the noisy gradients point the way of what the canary would add, clipped, at those weights, summed over all steps.

    Parameters
    ----------
    make_trainer
        Takes the chosen canaries and returns a fresh `discreet.learn.Trainer` on them, and on whatever other made-up
        rows it adds, always the same. Called twice: for its plan, with no canary, and for the run.
    canaries
        What may go in, each of its own person: rows, or people with several rows where `units` says whose they are.
        They are most telling with gradients of more than the clip in directions of their own: see `gradient_canaries`.
    claim
        The loss that is claimed for one canary more or less: that of the trainer's plan, if it is left out.
    delta, confidence, guesses
        As for `one_run`.
    progress
        Called with the work done and all of it.

    Costs no privacy if all rows are made up. Time: a training and, for each of its steps, a gradient of every canary.
    Raises `ParameterError` as `audit_training` does, and for what is no such trainer; what training raises comes
    through.
    Source: Steinke, Nasr and Jagielski 2023, Algorithm 1 and Section 6 (white-box, gradient canaries).
    """
    people = _People.of_rows(canaries)
    planned = _checked(make_trainer(people.rows_of(np.zeros(0, np.int64)))).plan()
    bound = planned.grid * float(planned.mechanism.bound)

    def train(chosen: list[int]) -> NDArray[np.float64]:
        trainer = _checked(make_trainer(people.rows_of(np.array(chosen, np.int64))))
        return _watched(trainer, people, bound)

    return audit_training(
        train,
        Canaries(range(len(people.starts) - 1)),
        lambda scores, canary: float(scores[canary]),
        planned.loss if claim is None else claim,
        delta=delta,
        confidence=confidence,
        guesses=guesses,
        progress=progress,
    )


def gradient_canaries(count: int, size: float = 10.0) -> Tensors:
    """Canaries whose gradients are each of length `size` in one coordinate of its own.

    They are for ``nn.Linear(width, width, bias=False)``, width being ⌈√count⌉, and the loss ``(output * y).sum(1)`` of
    each row, whatever the weights: a training of that network, with the settings that are to be audited, shows all
    of the noise, the clipping and the sampling. Raises `ParameterError` for no canary.

    >>> gradient_canaries(10).x.shape
    torch.Size([10, 4])
    """
    import torch

    from discreet.learn import Tensors

    if isinstance(count, bool) or not isinstance(count, int) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"count is a whole number of canaries, 1 or more, not {count!r}")
    width = math.isqrt(count - 1) + 1
    ones, every = torch.eye(width), torch.arange(count)
    return Tensors(size * ones[every // width], ones[every % width])


@dataclass(frozen=True)
class _People:
    """The rows of canaries, those of one person next to one another; person i has starts[i] up to starts[i + 1]."""

    rows: Tensors
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of_rows(cls, rows: Tensors) -> _People:
        from discreet.learn import Tensors

        if not isinstance(rows, Tensors):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"canaries are learn.Tensors(x, y), made-up rows, not {type(rows).__name__}")
        count = len(rows.x)
        if rows.units is None:
            return cls(rows, np.arange(count), np.arange(count + 1))
        order = np.argsort(rows.units, kind="stable").astype(np.int64)
        _, firsts = np.unique(rows.units[order], return_index=True)
        return cls(rows, order, np.append(firsts, count).astype(np.int64))

    def places(self, people: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of these people, and whose each is, from 0."""
        parts = [self.order[self.starts[each] : self.starts[each + 1]] for each in people]
        slots = [np.full(len(part), slot, np.int64) for slot, part in enumerate(parts)]
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *parts]), np.concatenate([nothing, *slots])

    def rows_of(self, people: NDArray[np.int64]) -> Tensors:
        """The rows of these people alone."""
        from discreet.learn import Tensors

        rows, places = self.rows, self.places(people)[0]
        units = None if rows.units is None else rows.units[places]
        return Tensors(rows.x[places], rows.y[places], units, rows.rows_per_unit)

    def batches(self) -> Iterator[tuple[slice, Tensor, Tensor, Tensor | None]]:
        """Some people at a time: which they are, their x and y, and whose each row is, if some have several."""
        import torch

        for start in range(0, len(self.starts) - 1, _AT_ONCE):
            people = np.arange(start, min(start + _AT_ONCE, len(self.starts) - 1))
            rows, slots = self.places(people)
            owners = None if self.rows.units is None else torch.from_numpy(slots)
            yield slice(start, start + len(people)), self.rows.x[rows], self.rows.y[rows], owners


def _checked(trainer: object) -> Trainer:
    from discreet.learn import Trainer

    if not isinstance(trainer, Trainer):
        raise ParameterError(
            f"make_trainer must return a learn.Trainer on the rows it is given, not {type(trainer).__name__}"
        )
    return trainer


def _watched(trainer: Trainer, people: _People, bound: float) -> NDArray[np.float64]:
    """Train, and add up over all steps how far the noisy gradient points the way of each canary's contribution."""
    from discreet.learn.gradients._recorder import Recorder

    scores = np.zeros(len(people.starts) - 1)
    recorder = Recorder(trainer.net)

    def watch(*_: Any) -> None:
        noisy = {name: each.grad for name, each in recorder.parameters.items()}
        for chosen, x, y, owners in people.batches():
            with recorder.listening():
                pieces = recorder.backward(trainer.loss(trainer.net(x), y), owners)
            count = chosen.stop - chosen.start
            scores[chosen] += _alike(pieces, noisy, bound).numpy()[:count]

    handle = trainer.optimizer.register_step_pre_hook(watch)
    try:
        trainer.fit()
    finally:
        handle.remove()
    return scores


def _alike(pieces: Any, noisy: dict[str, Tensor | None], bound: float) -> Tensor:
    """The inner product of the noisy gradient and of each canary's own, clipped to `bound`; 0 if it is not finite."""
    import torch

    from discreet.learn.gradients._pieces import dense

    products, squares = torch.zeros(()), torch.zeros(())
    for name, piece in pieces.items():
        own, direction = dense(piece), noisy[name]
        if direction is not None:
            products = products + own @ direction.flatten()
            squares = squares + own.square().sum(1)
    factors = bound / squares.sqrt().clamp_min(bound)
    return torch.nan_to_num(products * factors, nan=0.0, posinf=0.0, neginf=0.0).double()
