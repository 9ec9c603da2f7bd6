"""What a membership attack achieved: how well its scores tell members from others, at every rate of false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._outcome import Control, Outcome, proportion_interval
from discreet.errors import ParameterError

__all__ = ["MembershipOutcome", "membership_outcome"]


@dataclass(frozen=True, repr=False)
class MembershipOutcome:
    """Scores of people, the higher the likelier a member, and who is one.

    Attributes
    ----------
    attack
        Which one.
    scores, is_member
        A row for each person.
    """

    attack: str
    scores: NDArray[np.float64]
    is_member: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"<MembershipOutcome of {self.attack}: AUC {self.auc:.3f}, baseline .5>"

    @property
    def auc(self) -> float:
        """How likely a member scores above another, ties counted half; .5 is what scores without the model give."""
        order = np.argsort(self.scores, kind="stable")
        _, where, counts = np.unique(self.scores[order], return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        ranks = np.empty(len(order))
        ranks[order] = (ends - (counts - 1) / 2)[where]
        members = int(self.is_member.sum())
        others = len(self.is_member) - members
        return float((ranks[self.is_member].sum() - members * (members + 1) / 2) / (members * others))

    def auc_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true AUC lies, whatever the scores' distributions. Source: DeLong et al. 1988, normal limits."""
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        inside, outside = np.sort(self.scores[self.is_member]), np.sort(self.scores[~self.is_member])
        above = _shares_below(outside, self.scores[self.is_member])
        below = 1 - _shares_below(inside, self.scores[~self.is_member])
        variance = above.var(ddof=1) / len(inside) + below.var(ddof=1) / len(outside)
        reach = float(ndtri((1 + level) / 2)) * float(variance) ** 0.5
        return max(self.auc - reach, 0.0), min(self.auc + reach, 1.0)

    def threshold_for(self, false_alarms: float) -> float:
        """The lowest score above which at most so many of the others lie."""
        others = np.sort(self.scores[~self.is_member])[::-1]
        allowed = int(false_alarms * len(others))
        return float(others[allowed]) if allowed < len(others) else -np.inf

    def true_rate(self, false_alarms: float) -> float:
        """Which share of members is found where at most this share of others is taken for members."""
        return float((self.scores[self.is_member] > self.threshold_for(false_alarms)).mean())

    def true_rate_interval(self, false_alarms: float, level: float = 0.95) -> tuple[float, float]:
        """Where that share lies, for the threshold that was used."""
        above = int((self.scores[self.is_member] > self.threshold_for(false_alarms)).sum())
        return proportion_interval(above, int(self.is_member.sum()), level)

    def outcome(self, threshold: float) -> Outcome:
        """The attack as guesses: a member is who scores above the threshold. The control guesses what most are."""
        guess = self.scores > threshold
        right = guess == self.is_member
        share = float(self.is_member.mean())
        evidence = pa.table([pa.array(self.scores), pa.array(guess), pa.array(right)], ["score", "guess", "right"])
        return Outcome(self.attack, int(right.sum()), len(right), Control(max(share, 1 - share)), evidence)

    def explain(self) -> str:
        """The outcome in words."""
        low, high = self.auc_interval()
        lines = [f"{self.attack}: AUC {self.auc:.3f} ({low:.3f} to {high:.3f}); guessing without the model has .5"]
        for rate in (0.001, 0.01):
            first, last = self.true_rate_interval(rate)
            lines.append(
                f"at {rate:.1%} false alarms {self.true_rate(rate):.2%} of members are found ({first:.2%}, {last:.2%})"
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON, without scores."""
        return {
            "attack": self.attack,
            "auc": self.auc,
            "auc_interval": list(self.auc_interval()),
            "baseline": 0.5,
            "true_rate_at_0.1%": self.true_rate(0.001),
            "true_rate_at_1%": self.true_rate(0.01),
            "members": int(self.is_member.sum()),
            "others": int((~self.is_member).sum()),
        }


def _shares_below(ordered: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    below = np.searchsorted(ordered, scores, side="left")
    return (below + np.searchsorted(ordered, scores, side="right")) / 2 / len(ordered)


def membership_outcome(attack: str, scores: Any, is_member: Any) -> MembershipOutcome:
    """Check scores and truth. Raises `ParameterError` for others than one of each, and where nobody or all are in."""
    given, truth = np.asarray(scores, np.float64), np.asarray(is_member)
    if given.ndim != 1 or truth.shape != given.shape or truth.dtype != bool:
        raise ParameterError("there is a score and a truth value for each person")
    if not np.isfinite(given).all():
        raise ParameterError("scores are finite numbers")
    if min(int(truth.sum()), int((~truth).sum())) < 2:
        raise ParameterError("two members and two others at least are needed to tell an attack from its baseline")
    return MembershipOutcome(attack, given, truth)
