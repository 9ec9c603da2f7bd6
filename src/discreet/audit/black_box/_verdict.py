"""The verdict of an audit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Loss, as_approx, as_mu, as_rho, in_words, mu, to_json

__all__ = ["Trial", "Verdict", "Witness"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One event that was tested on fresh outputs: what its two probabilities are, at the confidence of the verdict.

    likelier: the least probability of the event on the input where it is likelier; rarer: the greatest on the other.
    """

    likelier: float
    rarer: float

    @property
    def errors(self) -> tuple[float, float]:
        """The type I and type II errors that an adversary who watches for the event has at most."""
        return self.rarer, 1 - self.likelier


@dataclass(frozen=True, slots=True)
class Witness:
    """The event that shows most, the two inputs, and how often it was seen on each."""

    event: str
    pair: int
    inputs: tuple[Any, Any] = field(repr=False, compare=False)
    on_second: bool
    hits: tuple[int, int]
    sizes: tuple[int, int]
    trial: Trial

    @property
    def sentence(self) -> str:
        """In words."""
        first, second = (f"{hits:,} of {size:,}" for hits, size in zip(self.hits, self.sizes, strict=True))
        return f"{self.event}: seen in {first} outputs on the first input and in {second} on the second"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was certified against a claim, with the confidence stated: all bounds hold together.

    claim, delta, claimed: the loss that was claimed, and its ε at `delta`.
    epsilon_lower: no ε below this holds at `delta`.
    delta_lower: no δ below this holds at `claimed`.
    rho_lower, mu_lower: no ρ and no μ below these hold, beside the δ that the claim states with its ρ or μ.
    trials: the events behind it; each is a point of the trade-off curve that an adversary is known to reach.
    violated: whether one of them is out of reach under the claim.
    witness: the event that shows the greatest ε, or that breaks the claim; None if nothing was shown.
    samples: how many outputs were drawn, over both inputs.
    note: what else the user should know.
    """

    claim: Loss
    delta: float
    claimed: float
    epsilon_lower: float
    delta_lower: float
    rho_lower: float
    mu_lower: float
    trials: tuple[Trial, ...]
    violated: bool
    witness: Witness | None
    samples: int
    confidence: float
    note: str | None = None

    @property
    def tradeoff(self) -> list[tuple[float, float]]:
        """Points (type I error, type II error) that an adversary is certified to reach, by increasing type I error."""
        return sorted(trial.errors for trial in self.trials)

    @property
    def nearest(self) -> tuple[str, float, float]:
        """The unit in which most of the claim was certified, what the claim states in it, and what was certified.

        ``"epsilon"`` at `delta`, ``"delta"`` at `claimed`, and for claims that have no ε of their own ``"mu"`` or
        ``"rho"``.
        """
        units = [("epsilon", self.claimed, self.epsilon_lower)]
        if math.isfinite(self.claimed):
            units.append(("delta", self.delta, self.delta_lower))
        if as_approx(self.claim) is None:
            gaussian = as_mu(self.claim)
            if gaussian is not None:
                units.append(("mu", math.sqrt(gaussian[0]), self.mu_lower))
            elif (rho := _rho_of(self.claim)) is not None:
                units.append(("rho", rho, self.rho_lower))
        return max(units, key=lambda each: each[2] / each[1] if each[1] else 0.0)

    @property
    def gaussian_epsilon(self) -> float:
        """The least ε at `delta` of the mechanism **if** its trade-off is that of Gaussian noise, as of `mu_lower`.

        Tight for Gaussian mechanisms, whose ε at a small δ no event of a visible probability shows. Source: Nasr et al.
        2023, "Tight auditing of differentially private machine learning", section 4.
        """
        return mu(self.mu_lower).bounds(delta=self.delta)[0] if self.mu_lower > 0 and self.delta > 0 else 0.0

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        at = f" at delta {self.delta:g}" if self.delta else ""
        unit, claimed, certified = self.nearest
        bound = f"{unit} is at least {_down(certified)}{at if unit == 'epsilon' else ''}"
        allowed = "no number" if math.isinf(claimed) else f"{claimed:.4g}"
        sure = f"with confidence {self.confidence:.12g}, from {self.samples:,} outputs"
        claim = f"the claim, {in_words(self.claim)},"
        if not self.violated:
            text = f"Not refuted: {bound}, where {claim} allows {allowed}; {sure}. That proves no privacy."
        else:
            seen = f" The event: {self.witness.sentence}." if self.witness else ""
            beyond = "" if certified > claimed else " An event lies beyond what its whole curve allows."
            text = f"VIOLATED: {claim} does not hold; {bound}, where it allows {allowed}, {sure}.{beyond}{seen}"
        return text if self.note is None else f"{text} {self.note}"

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON; infinities are null. The inputs are left out."""
        witness = self.witness
        return {
            "violated": self.violated,
            "claim": to_json(self.claim),
            "delta": self.delta,
            "claimed": _finite(self.claimed),
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "rho_lower": self.rho_lower,
            "mu_lower": self.mu_lower,
            "gaussian_epsilon": self.gaussian_epsilon,
            "tradeoff": [list(point) for point in self.tradeoff],
            "confidence": self.confidence,
            "samples": self.samples,
            "witness": None
            if witness is None
            else {"event": witness.event, "pair": witness.pair, "hits": list(witness.hits), "of": list(witness.sizes)},
            "note": self.note,
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        return self.sentence


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _down(number: float) -> str:
    """Four digits after the point, rounded down; four significant ones for what is small."""
    if not 0 < number < 0.1:
        return f"{math.floor(number * 1e4) / 1e4:.4f}"
    scale = 10.0 ** (3 - math.floor(math.log10(number)))
    return f"{math.floor(number * scale) / scale:.4g}"


def _rho_of(claim: Loss) -> float | None:
    """The ρ that a claim states, beside its δ if it has one; None for the few that have none."""
    try:
        return claim.rho()
    except ParameterError:
        pass
    try:
        return float(as_rho(claim)[0])
    except ParameterError:
        return None
