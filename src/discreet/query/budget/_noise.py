"""The noise of a plan, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import LedgerError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection, ThresholdedCounts, TopK
from discreet.privacy import ApproxLoss, Loss, currency, in_currency
from discreet.query.budget._modes import ModeNoise
from discreet.query.budget._quantiles import QuantileNoise
from discreet.query.measures._bounded import BoundedAggregate, Group, GroupKey, complete
from discreet.rational import from_exact_text
from discreet.sensitivity import Norms

__all__ = [
    "NEARLY_ALWAYS",
    "CountThreshold",
    "KeyDiscovery",
    "Level",
    "Noise",
    "NoiseMechanism",
    "TopKeys",
    "draw",
    "keys_of",
    "level_loss",
    "noise_from_json",
    "noise_to_json",
    "together",
    "top_keys_to_json",
]


@dataclass(frozen=True, slots=True)
class TopKeys:
    """Keys are chosen by their exact values of the measure at position `count`; only the chosen ones are measured.

    `norms` are how far one unit moves each measure on any k keys together, k those that `mechanism` picks. Proof:
    ``proofs/query_top_k.md``.
    """

    count: int
    mechanism: TopK
    norms: tuple[Norms, ...]

    def choose(self, groups: Sequence[Group]) -> list[Group]:
        """The k chosen groups, in the order in which all of them came.

        Costs `mechanism.loss()`, **and charges nobody**. Where counts tie, chance decides.
        """
        picked = self.mechanism.release([group.sums[self.count] for group in groups])
        return [groups[i] for i in sorted(picked)]

    def loss(self, moved: int) -> Loss:
        """What the choice loses where no group's count of two tables differs by more than `moved`, 1 at least."""
        mechanism = self.mechanism
        epsilon = mechanism.epsilon * moved / mechanism.sensitivity
        return TopK(mechanism.k, epsilon, mechanism.sensitivity, monotone=mechanism.monotone).loss()


def top_keys_to_json(top: TopKeys) -> dict[str, object]:
    """The choice as plain JSON: the mechanism, exact numbers as text, and which measure it is of."""
    mechanism = top.mechanism
    return {
        "mechanism": "TopK",
        "k": mechanism.k,
        "epsilon": str(mechanism.epsilon),
        "sensitivity": str(mechanism.sensitivity),
        "monotone": mechanism.monotone,
        "measure": top.count,
    }


@dataclass(frozen=True, slots=True)
class CountThreshold:
    """Keys are shown whose noisy count of people, the measure at position `count`, reaches the threshold of `rule`.

    The noise of `rule` is that of the measure, so that the count pays for both. Proof:
    ``proofs/partition_selection.md``, Noisy counts.
    """

    count: int
    rule: ThresholdedCounts

    def loss(self) -> Loss:
        """What it loses beside the measures: that a key of one person is shown."""
        return ApproxLoss(Fraction(0), self.rule.delta)

    def shown_from(self, level: float) -> int:
        """See `ThresholdedCounts.shown_from`."""
        return self.rule.shown_from(level)


KeyDiscovery = PartitionSelection | ThresholdedCounts | CountThreshold
"""How private keys become public: by a count that nobody else sees, or by one that the query asks for."""

NEARLY_ALWAYS = 0.95
"""The probability with which a group is shown that a reader is told not to miss."""


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
    selection: KeyDiscovery | None
    loss: Loss
    quantiles: tuple[QuantileNoise | ModeNoise, ...] = ()
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
            return DiscreteLaplace(scale=from_exact_text(scale))
        case {"mechanism": "DiscreteGaussian", "sigma": sigma}:
            return DiscreteGaussian(sigma=from_exact_text(sigma))
        case {"mechanism": "Gaussian", "sigma": sigma}:
            return Gaussian(sigma=from_exact_text(sigma))
        case _:
            raise LedgerError("the stored release names a mechanism that this version does not know; upgrade discreet")


@dataclass(frozen=True, slots=True)
class Level:
    """What the plain query with the GROUP BY of one grouping set would be.

    `bounded` is what an engine sums, `norms` how far one unit moves each measure of it, `noise` None without a spend.
    `groupings` are the values of the query's GROUPING(…) in every row of this level.
    """

    bounded: BoundedAggregate
    norms: tuple[Norms, ...]
    noise: Noise | None
    groupings: Mapping[str, int] = field(default_factory=dict[str, int])


def keys_of(levels: Sequence[Level]) -> tuple[GroupKey, ...]:
    """The keys of all levels, each once."""
    return tuple({key.name: key for level in levels for key in level.bounded.keys}.values())


def level_loss(levels: Sequence[Level]) -> Loss | None:
    """The composition of all levels, in the currency of the spend; None without one."""
    return together([level.noise.loss for level in levels if level.noise is not None])


def together(losses: Sequence[Loss]) -> Loss | None:
    """The composition of losses, in the currency that they have; None of none."""
    if len(losses) < 2:
        return losses[0] if losses else None
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return in_currency(total, currency(total))


def draw(groups: Sequence[Group], bounded: BoundedAggregate, noise: Noise) -> list[Group]:
    """Noisy groups in the order in which they are released: every public key, or those that are discovered or chosen.

    Absent public keys are sums and quantiles of nothing and get noise like the rest. Costs what `noise` says.
    """
    exact, counts = complete(groups, bounded), dict[int, list[int]]()
    match noise.selection:
        case PartitionSelection() as selection:
            shown = selection.release([group.units for group in exact]).tolist()
            exact = [group for group, keep in zip(exact, shown, strict=True) if keep]
        case ThresholdedCounts() as rule:
            noisy = rule.release([group.units for group in exact])
            exact = [group for group, value in zip(exact, noisy, strict=True) if value is not None]
        case CountThreshold(count, rule):
            noisy = rule.release([group.sums[count] for group in exact])
            exact = [group for group, value in zip(exact, noisy, strict=True) if value is not None]
            counts[count] = [value for value in noisy if value is not None]
        case None:
            pass
    if noise.top_keys is not None:
        exact = noise.top_keys.choose(exact)
    drawn = [
        tuple(noise_of.draw(group.cells[i] if group.cells else None) for i, noise_of in enumerate(noise.quantiles))
        for group in exact
    ]
    columns = [
        counts[i] if i in counts else mechanism.release([group.sums[i] for group in exact])
        for i, mechanism in enumerate(noise.mechanisms)
    ]
    return [
        Group(group.key, 0, tuple(int(column[i]) for column in columns), quantiles=quantiles)
        for i, (group, quantiles) in enumerate(zip(exact, drawn, strict=True))
    ]
