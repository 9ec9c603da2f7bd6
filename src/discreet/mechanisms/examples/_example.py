"""The record of a mechanism that everything which tries mechanisms reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.mechanisms._stated_loss import stated_loss
from discreet.privacy import Loss, rho
from discreet.rational import Number

__all__ = ["Draw", "Example", "Pair", "Scaled", "Setting", "all_at_once", "arrays_at_once", "small_rho"]

Pair = tuple[Any, Any]
"""Two neighbouring inputs of `release`."""

Draw = Callable[[Any, Any, int], Sequence[Any]]
"""Takes a mechanism, an input and a number; makes so many independent releases."""


def all_at_once(mechanism: Any, value: Any, size: int) -> list[Any]:
    """One call, of a mechanism that gives each entry of a list noise of its own."""
    released = mechanism.release([value] * size)
    return released if isinstance(released, list) else released.tolist()


def arrays_at_once(mechanism: Any, value: Any, size: int) -> list[Any]:
    """One call, of a mechanism that gives each entry of an array noise of its own."""
    import numpy as np

    return mechanism.release(np.array([value] * size)).astype(np.int64).tolist()


def small_rho(epsilon: Any) -> Loss:
    """A ρ at which δ(ε) is small, for small ε and for large ones."""
    return rho(min(epsilon**2 / 8, epsilon / 4))


@dataclass(frozen=True, slots=True)
class Setting:
    """A mechanism with all its parameters, for an audit of its claim and for a certificate.

    shown: the call that makes it. pairs: neighbouring inputs on which the claim is attained, or nearly.
    note: why these, and what keeps an audit below the claim. variant: its name among the settings.
    sensitivity: what `loss` takes, if it takes any. delta: where ε is told, if not at the δ of the claim.
    samples: how many outputs tell most of what can be told. draw: if not as the example does.
    """

    shown: str
    mechanism: Any
    pairs: tuple[Pair, ...]
    note: str
    variant: str = ""
    sensitivity: Any = None
    delta: Number | None = None
    samples: int = 100_000
    draw: Draw | None = None

    @property
    def claim(self) -> Loss:
        """What it states that a release costs."""
        return stated_loss(self.mechanism, self.sensitivity)


def _one_by_one(mechanism: Any, value: Any, size: int) -> list[Any]:
    return [mechanism.release(value) for _ in range(size)]


def _itself(output: Any) -> Any:
    return output


@dataclass(frozen=True, slots=True)
class Scaled:
    """A mechanism with as little or as much noise as a test asks for.

    at: takes a scale; the mechanism whose ε is 1 / scale, or whose noise has that scale, at sensitivity 1.
    pair: neighbouring inputs. sensitivity: what `loss` takes for them, if it takes any.
    number: what to look at of a release. step: the grid of that, None for what is chosen from a list.
    draw: if not as the example does.
    """

    at: Callable[[Any], Any]
    pair: Pair
    variant: str = ""
    sensitivity: Any = None
    number: Callable[[Any], Any] = _itself
    step: Callable[[Any], Fraction] | None = None
    draw: Draw | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A mechanism: what to choose it for, one for the page, and settings that try it hardest.

    kind: the class. group: its heading on the page. use, costs: in words.
    shown: the code that makes `mechanism`. sensitivity: what `loss` takes, if it takes any.
    settings: what the audit holds to its claim. scaled: what is run with next to no noise, and with a great deal.
    calibrate: the mechanism that a spend buys, if it can be calibrated.
    error: how far `mechanism` errs, in words; None if that depends on the data.
    draw: makes many releases faster than one by one.
    neighbours: which neighbours a loss is for, where neither it nor the class says.

    >>> from discreet.mechanisms.examples import examples
    >>> [staircase] = [each for each in examples() if each.name == "Staircase"]
    >>> staircase.shown, staircase.loss()
    ('Staircase(epsilon=3, sensitivity=10)', pure(3))
    """

    kind: type
    group: str
    use: str
    costs: str
    shown: str
    mechanism: Any
    settings: tuple[Setting, ...]
    scaled: tuple[Scaled, ...]
    calibrate: Callable[[Loss], Any] | None = None
    error: Callable[[Any], str] | None = None
    sensitivity: Any = None
    draw: Draw | None = None
    neighbours: str = "those of the sensitivity"

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.kind.__name__

    def loss(self) -> Loss:
        """What a release of `mechanism` costs."""
        return stated_loss(self.mechanism, self.sensitivity)

    def expected_error(self) -> str:
        """How far `mechanism` errs, in words."""
        return "depends on the data, and is not told" if self.error is None else self.error(self.mechanism)

    def named(self, part: Setting | Scaled) -> str:
        """The name of the class, and after a space the variant."""
        return f"{self.name} {part.variant}".rstrip()

    def drawn_by(self, part: Setting | Scaled) -> Draw:
        """What makes many releases, of that setting or at any scale."""
        return part.draw or self.draw or _one_by_one
