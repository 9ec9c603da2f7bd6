"""The verdict of an audit from one run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.privacy import Loss, in_words, to_json

__all__ = ["Guesses", "OneRunVerdict"]


@dataclass(frozen=True, slots=True)
class Guesses:
    """One rule of guessing, the `inside` highest scores in and the `outside` lowest out, and how many were right."""

    inside: int
    outside: int
    correct: int

    @property
    def count(self) -> int:
        """How many canaries were guessed; the rule abstains on the others."""
        return self.inside + self.outside


@dataclass(frozen=True, slots=True)
class OneRunVerdict:
    """What one run certifies against a claim. The claim is per canary.

    claim, delta, claimed: the loss that was claimed, and its ε at `delta`.
    epsilon_lower: no ε below this holds at `delta`.
    mu_lower: no μ of Gaussian differential privacy below this holds.
    p_value: if the claim holds, a verdict as bad as this has at most this probability; it pays for all rules.
    violated: whether the p-value is below 1 − confidence.
    guesses: what each rule of guessing got right.
    best: the one among them that the p-value is from.
    canaries: how many there were.
    """

    claim: Loss
    delta: float
    claimed: float
    epsilon_lower: float
    mu_lower: float
    p_value: float
    violated: bool
    guesses: tuple[Guesses, ...]
    best: Guesses
    canaries: int
    confidence: float

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        at = f" at delta {self.delta:g}" if self.delta else ""
        bound = f"epsilon is at least {math.floor(self.epsilon_lower * 1e4) / 1e4:.4f}{at}"
        seen = (
            f"with confidence {self.confidence:g}, from one run with {self.canaries:,} canaries: "
            f"{self.best.correct:,} of {self.best.count:,} guesses were right"
        )
        claim = f"the claim, {in_words(self.claim)},"
        allows = "" if math.isinf(self.claimed) else f" allows {self.claimed:.4g}{at} and"
        if self.violated:
            chance = f"Under the claim that has a probability of at most {self.p_value:.2g}."
            return f"VIOLATED: {claim} does not hold; {bound}, {seen}. {chance}"
        return f"Not refuted: {claim}{allows} was not shown to be exceeded; {bound}, {seen}. That proves no privacy."

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON; an infinite ε is null."""
        return {
            "violated": self.violated,
            "claim": to_json(self.claim),
            "delta": self.delta,
            "claimed": self.claimed if math.isfinite(self.claimed) else None,
            "epsilon_lower": self.epsilon_lower,
            "mu_lower": self.mu_lower,
            "p_value": self.p_value,
            "canaries": self.canaries,
            "confidence": self.confidence,
            "guesses": [
                {"inside": each.inside, "outside": each.outside, "correct": each.correct} for each in self.guesses
            ],
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        return self.sentence
