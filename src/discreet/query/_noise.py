"""The noise of a plan, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import LedgerError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection
from discreet.privacy import Loss
from discreet.query._quantile_noise import QuantileNoise
from discreet.query._top_keys import TopKeys

__all__ = ["Noise", "NoiseMechanism", "noise_from_json", "noise_to_json"]

NoiseMechanism = DiscreteLaplace | DiscreteGaussian | Gaussian


@dataclass(frozen=True, slots=True)
class Noise:
    """One mechanism for each measure and each histogram, the discovery of private keys if any, and what all costs.

    `top_keys` is the choice of the keys that are measured, if they are not all; where a query asks for the first keys
    and gets none, `ranked` says why noisy counts of all keys are ranked instead. `shares` are the parts of the ε, ρ or
    μ² of the loss that the measures have, a choice by one of them included; what is left of 1 is shared evenly among
    the histograms and the discovery. Gaussian noise of a spend in (ε, δ) shares a μ² that is within its ε and δ.
    """

    mechanisms: tuple[NoiseMechanism, ...]
    selection: PartitionSelection | None
    loss: Loss
    quantiles: tuple[QuantileNoise, ...] = ()
    top_keys: TopKeys | None = None
    ranked: str | None = None
    shares: tuple[Fraction, ...] = ()


def noise_to_json(mechanism: NoiseMechanism) -> dict[str, str]:
    """A mechanism as plain JSON: its name and its parameter as exact text."""
    match mechanism:
        case DiscreteLaplace():
            return {"mechanism": "DiscreteLaplace", "scale": str(mechanism.scale)}
        case DiscreteGaussian() | Gaussian():
            return {"mechanism": type(mechanism).__name__, "sigma": str(mechanism.sigma)}


def noise_from_json(data: Mapping[str, str]) -> NoiseMechanism:
    """The inverse of `noise_to_json`; raises `LedgerError` on anything else."""
    match data:
        case {"mechanism": "DiscreteLaplace", "scale": scale}:
            return DiscreteLaplace(scale=Fraction(scale))
        case {"mechanism": "DiscreteGaussian", "sigma": sigma}:
            return DiscreteGaussian(sigma=Fraction(sigma))
        case {"mechanism": "Gaussian", "sigma": sigma}:
            return Gaussian(sigma=Fraction(sigma))
        case _:
            raise LedgerError("the stored release names a mechanism that this version does not know; upgrade discreet")
