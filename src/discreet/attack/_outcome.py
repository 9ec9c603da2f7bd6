"""What an attack achieved, beside what the same guesser achieves without the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.errors import ParameterError

__all__ = ["Control", "Outcome", "proportion_interval"]


def proportion_interval(right: int, trials: int, level: float) -> tuple[float, float]:
    """Where a probability lies, given how often its event happened. Source: Clopper and Pearson 1934.

    >>> low, high = proportion_interval(50, 100, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.398, 0.602)
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    tail = (1 - level) / 2
    low = float(betaincinv(right, trials - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, trials - right, 1 - tail)) if right < trials else 1.0
    return low, high


@dataclass(frozen=True)
class Control:
    """What the same guesser achieves without the release.

    Attributes
    ----------
    success
        The share of targets that it guesses rightly.
    trials
        On how many targets that was measured; None if it is known exactly.
    """

    success: float
    trials: int | None = None

    def interval(self, level: float) -> tuple[float, float]:
        """Where its true success lies."""
        if self.trials is None:
            return self.success, self.success
        return proportion_interval(round(self.success * self.trials), self.trials, level)


@dataclass(frozen=True, repr=False)
class Outcome:
    """The result of one attack on one release.

    Attributes
    ----------
    attack
        Which one.
    right, targets
        How many targets were guessed rightly, of how many.
    control
        The same guesser without the release: there is no result without it.
    evidence
        A row for each target: what was guessed, how surely, and whether it was right.
    claims
        On how many targets the attacker would stake something; None if the attack always guesses.
    false_claims
        How many of those are wrong.
    """

    attack: str
    right: int
    targets: int
    control: Control
    evidence: pa.Table
    claims: int | None = None
    false_claims: int | None = None

    def __post_init__(self) -> None:
        """Raises `ParameterError` for an attack without targets, and for more right guesses than targets."""
        if self.targets < 1:
            raise ParameterError("an attack needs targets: there are none")
        if not 0 <= self.right <= self.targets or not 0 <= self.control.success <= 1:
            raise ParameterError(f"of {self.targets:,} targets {self.right:,} cannot have been guessed rightly")

    @property
    def success(self) -> float:
        """The share of targets that were guessed rightly."""
        return self.right / self.targets

    @property
    def baseline(self) -> float:
        """The share that the control guesses rightly."""
        return self.control.success

    @property
    def advantage(self) -> float:
        """Success above the baseline: what the release gave away to this attack."""
        return self.success - self.baseline

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true success lies, as often as the level says."""
        return proportion_interval(self.right, self.targets, level)

    def advantage_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true advantage lies, at least as often as the level says: half the risk for each of both parts."""
        each = (1 + level) / 2
        (low, high), (base_low, base_high) = self.interval(each), self.control.interval(each)
        return low - base_high, high - base_low

    def __repr__(self) -> str:
        return f"<Outcome of {self.attack}: {self.right:,} of {self.targets:,} right, baseline {self.baseline:.3g}>"

    def explain(self) -> str:
        """The outcome in words."""
        low, high = self.interval()
        gain_low, gain_high = self.advantage_interval()
        lines = [
            f"{self.attack}: {self.right:,} of {self.targets:,} targets guessed rightly",
            f"success {self.success:.1%} ({low:.1%} to {high:.1%})",
            f"without the release the same guesser is right for {self.baseline:.1%}",
            f"advantage {self.advantage:+.1%} ({gain_low:+.1%} to {gain_high:+.1%})",
        ]
        if self.claims is not None and self.false_claims is not None:
            lines.append(f"{self.claims:,} claims, of which {self.false_claims:,} are false")
        if gain_low <= 0:
            lines.append("this attack shows no advantage; another one may have one")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON, without the evidence."""
        return {
            "attack": self.attack,
            "right": self.right,
            "targets": self.targets,
            "success": self.success,
            "interval": list(self.interval()),
            "baseline": self.baseline,
            "baseline_trials": self.control.trials,
            "advantage": self.advantage,
            "advantage_interval": list(self.advantage_interval()),
            "claims": self.claims,
            "false_claims": self.false_claims,
        }
