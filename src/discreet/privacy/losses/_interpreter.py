"""The interface of what gives losses their meaning, so that losses import nothing that computes it."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, TypeVar

from discreet.rational import Number

__all__ = ["Interpreter"]

_Loss = TypeVar("_Loss", contravariant=True)  # noqa: PLC0105 (a type of losses, whichever they are)


class Interpreter(Protocol[_Loss]):
    """What a loss means: the functions behind the methods of `Loss` of the same names."""

    def as_pure(self, loss: _Loss, /) -> Fraction | None:
        """The ε of pure differential privacy, if the loss has one."""
        ...

    def epsilon(self, loss: _Loss, delta: Number = 0, /) -> float:
        """See `Loss.epsilon`."""
        ...

    def delta(self, loss: _Loss, epsilon: Number, /) -> float:
        """See `Loss.delta`."""
        ...

    def bounds(
        self, loss: _Loss, /, *, delta: Number | None = None, epsilon: Number | None = None, gap: float = 1e-3
    ) -> tuple[float, float]:
        """See `Loss.bounds`."""
        ...

    def tradeoff(self, loss: _Loss, alpha: Number, /) -> float:
        """See `Loss.tradeoff`."""
        ...

    def renyi(self, loss: _Loss, order: Number, /) -> float:
        """See `Loss.renyi`."""
        ...

    def rho(self, loss: _Loss, /) -> float:
        """See `Loss.rho`."""
        ...

    def mu(self, loss: _Loss, /) -> float:
        """See `Loss.mu`."""
        ...

    def posterior(
        self, loss: _Loss, prior: Number, delta: Number = 0, /, *, independent: bool = False
    ) -> tuple[float, float]:
        """See `Loss.posterior`."""
        ...

    def at_risk(self, loss: _Loss, n: int, /) -> float:
        """See `Loss.at_risk`."""
        ...

    def fits(self, loss: _Loss, budget: _Loss, /) -> bool:
        """See `Loss.fits`."""
        ...

    def explain(self, loss: _Loss, /) -> str:
        """See `Loss.explain`."""
        ...
