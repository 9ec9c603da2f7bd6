"""The update of a step: noise on its exact sum, a public divisor, and the optimiser's step on that alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.errors import LedgerError
from discreet.learn.gradients import Fixed, LengthCount, UnitGradients

__all__ = ["Update"]

_MOST_EXACT = 1 << 62


class Update:
    """Moves a network's parameters by noisy sums, and the clip too, where a count of lengths is in them.

    With a `step`, that is called in place of the optimiser's, once the parameters have their gradients.

    Attributes
    ----------
    divisor
        By which sums in whole numbers are divided to be gradients: a public number. None until it is known.
    """

    def __init__(
        self,
        gradients: UnitGradients,
        optimizer: torch.optim.Optimizer,
        divisor: float | None,
        count: LengthCount | None = None,
        step: Callable[[], None] | None = None,
    ) -> None:
        self._gradients, self._optimizer, self._first_clip = gradients, optimizer, gradients.clipping.bound
        self._step = step
        self.set_divisor(divisor, count)

    def set_divisor(self, divisor: float | None, count: LengthCount | None) -> None:
        """Divide sums by this at the clip of the first step, and move the clip by this count, if it moves."""
        self.divisor, self._count = divisor, count
        self._divided = None if divisor is None else divisor * self._first_clip

    @property
    def clip(self) -> float | None:
        """The clip of the next step, where it moves: a function of what was released."""
        return None if self._count is None else self._gradients.clipping.bound

    def set_clip(self, clip: float) -> None:
        """Clip to this norm from now on; the most that a person adds is as many steps of the grid as before."""
        self._gradients.clipping = Fixed(clip)
        self.divisor = None if self._divided is None else self._divided / clip

    def apply(self, exact: NDArray[Any], added: NDArray[Any], places: int) -> None:
        """Adds noise, which has so many more binary places, divides by public numbers, and takes the step.

        Raises `LedgerError` while the divisor is not known.
        """
        if self.divisor is None:
            raise LedgerError("a step was to be divided by a count that is not bought yet; report this as a bug")
        if added.dtype == object or int(np.abs(exact).max(initial=0)) >= _MOST_EXACT >> places:
            exact, added = exact.astype(object), added.astype(object)
        noisy = (exact * (1 << places) + added).astype(np.float64) / float(1 << places)
        flat = torch.from_numpy(noisy[: self._gradients.size] / self.divisor).to(self._gradients.device)
        self._optimizer.zero_grad(set_to_none=True)  # of what the loop may have left in others
        for name, part in self._gradients.split(flat).items():
            parameter = self._gradients.parameters[name]
            parameter.grad = part.to(parameter.dtype).clone()
        self._optimizer.step() if self._step is None else self._step()
        self._optimizer.zero_grad(set_to_none=True)
        if self._count is not None:
            self.set_clip(self._count.moved(self._gradients.clipping.bound, float(noisy[-1])))
