"""What the steps of one release may spend, and on which mechanisms: prices in one currency, exact, within the total."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, PermuteAndFlip
from discreet.privacy import Loss, MuLoss, PureLoss, RhoLoss, budget_of, in_currency, parts
from discreet.rational import from_exact_text
from discreet.sensitivity import Norms

__all__ = [
    "Additive",
    "Choice",
    "Currency",
    "Prices",
    "Purse",
    "additive_from_json",
    "additive_to_json",
    "check_spend",
    "choice_from_json",
    "choice_to_json",
    "price_as_loss",
    "with_noise",
]

Additive = DiscreteLaplace | DiscreteGaussian | Gaussian
Choice = Exponential | PermuteAndFlip
Currency = Literal["pure", "rho", "mu"]
_LONGEST = 100
_AT_ONCE = 2**20
_INT64 = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a noisy measurement costs, or a choice by scores, in the currency that a spend is counted in.

    `norms` are how far one person moves a measurement. A spend in (ε, δ) buys a μ² that is within it.
    """

    currency: Currency
    total: Fraction
    norms: Norms

    @classmethod
    def of_spend(cls, spend: Loss, norms: Norms) -> Prices:
        """What a spend allows. Raises `ParameterError` for one that is no budget, or is nothing."""
        kind, (allowed, *deltas) = budget_of(spend)
        if allowed <= 0:
            raise ParameterError("the spend must be greater than 0")
        if kind == "approx" and any(deltas):
            return cls("mu", 1 / Gaussian.calibrate(spend, 1).sigma ** 2, norms)
        currencies: dict[str, Currency] = {"rho": "rho", "mu": "mu"}
        return cls(currencies.get(kind, "pure"), allowed, norms)

    @property
    def is_quadratic(self) -> bool:
        """Whether halving the noise costs four times as much, and not twice."""
        return self.currency != "pure"

    def cost(self, loss: Loss) -> Fraction:
        """What a loss costs."""
        return parts(in_currency(loss, self.currency))[0]

    def budget(self, price: Fraction) -> Loss:
        """A price as a loss."""
        return price_as_loss(self.currency, price)

    def measurement(self, price: Fraction) -> Additive:
        """The noise of one measurement for a price."""
        kinds: dict[Currency, type[Additive]] = {"pure": DiscreteLaplace, "rho": DiscreteGaussian, "mu": Gaussian}
        return kinds[self.currency].calibrate(self.budget(price), self.norms)

    def choice(self, price: Fraction, sensitivity: int) -> Choice:
        """The choice of one candidate for a price, by scores that one person moves by `sensitivity`."""
        kind = PermuteAndFlip if self.currency == "pure" else Exponential
        return kind.calibrate(self.budget(price), sensitivity)


@dataclass(slots=True)
class Purse:
    """What is left of the total while a release is drawn."""

    prices: Prices
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.prices.total - self.spent

    def pay(self, loss: Loss) -> None:
        """Take the cost of a mechanism before it draws. Raises `LedgerError` if it would pass the total."""
        cost = self.prices.cost(loss)
        if self.spent + cost > self.prices.total:
            raise LedgerError("a step of this release would pass what was charged; report this as a bug of discreet")
        self.spent += cost


def check_spend(spend: object) -> None:
    """Raise `ParameterError` for a spend that is no loss."""
    if not isinstance(spend, Loss):
        raise ParameterError('spend must be a loss, for example dp.pure("0.5"), dp.rho("0.01") or dp.approx(1, "1e-6")')


def price_as_loss(currency: str, price: Fraction) -> Loss:
    """A price in a currency as a loss. Raises `LedgerError` for no currency that prices are in.

    >>> price_as_loss("rho", Fraction(1, 2))
    rho(0.5)
    """
    match currency:
        case "pure":
            return PureLoss(price)
        case "rho":
            return RhoLoss(price, Fraction(0))
        case "mu":
            return MuLoss(price, Fraction(0))
        case _:
            raise LedgerError("the certificate adds up its steps in no currency that is known")


def with_noise(exact: NDArray[np.int64], mechanism: Additive) -> NDArray[np.int64]:
    """An array of counts with noise on each; what would leave 64 bits is moved to their ends, once it is noisy.

    The mechanism gives integers of any size as Python has them, so that it is asked for some of them at a time. It is
    not paid here.

    >>> with_noise(np.array([[3, 4]]), DiscreteLaplace("1/1000"))
    array([[3, 4]])
    """
    flat, noisy = exact.ravel(), np.empty(exact.size, np.int64)
    for begin in range(0, exact.size, _AT_ONCE):
        released = mechanism.release(flat[begin : begin + _AT_ONCE].tolist())
        try:
            noisy[begin : begin + _AT_ONCE] = released
        except OverflowError:
            noisy[begin : begin + _AT_ONCE] = [min(max(each, _INT64[0]), _INT64[1]) for each in released]
    return noisy.reshape(exact.shape)


def additive_to_json(mechanism: Additive) -> dict[str, str]:
    """A noise mechanism as plain JSON: its name, and its parameter as exact text."""
    if isinstance(mechanism, DiscreteLaplace):
        return {"mechanism": "DiscreteLaplace", "scale": str(mechanism.scale)}
    return {"mechanism": type(mechanism).__name__, "sigma": str(mechanism.sigma)}


def additive_from_json(data: dict[str, Any]) -> Additive:
    """The inverse of `additive_to_json`. Raises `LedgerError` for anything else."""
    match data:
        case {"mechanism": "DiscreteLaplace", "scale": str(scale)}:
            return DiscreteLaplace(scale=_parameter(scale))
        case {"mechanism": "DiscreteGaussian", "sigma": str(sigma)}:
            return DiscreteGaussian(sigma=_parameter(sigma))
        case {"mechanism": "Gaussian", "sigma": str(sigma)}:
            return Gaussian(sigma=_parameter(sigma))
        case _:
            raise LedgerError("a step has noise that this version of discreet does not know")


def choice_to_json(choice: Choice) -> dict[str, Any]:
    """A choice as plain JSON."""
    return {
        "mechanism": type(choice).__name__,
        "epsilon": str(choice.epsilon),
        "sensitivity": int(choice.sensitivity),
    }


def choice_from_json(data: dict[str, Any]) -> Choice:
    """A choice from its certificate. Raises `LedgerError` for anything else."""
    match data:
        case {"mechanism": "Exponential", "epsilon": str(epsilon), "sensitivity": int(sensitivity)}:
            return Exponential(_parameter(epsilon), sensitivity)
        case {"mechanism": "PermuteAndFlip", "epsilon": str(epsilon), "sensitivity": int(sensitivity)}:
            return PermuteAndFlip(_parameter(epsilon), sensitivity)
        case _:
            raise LedgerError("a choice is not one that this version of discreet makes")


def _parameter(text: str) -> Fraction:
    if len(text) > _LONGEST:
        raise LedgerError("a mechanism of this release has a parameter longer than any that it is run with")
    return from_exact_text(text)
