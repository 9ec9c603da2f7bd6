"""What is spent of a budget, and what is left, in plain words: what an adversary may come to believe."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Account
    from discreet.privacy import Loss

__all__ = ["Meaning", "meanings", "odometer"]

_PRIOR = Fraction(1, 100)
_AHEAD, _FAR = 4, 1000


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one person may have lost at some point, and how far a belief of 1 % about them may then have risen.

    `when` names the point; `through` says through what the loss came, if not through everything.
    `upper`, the belief, holds except with probability `event`, and is 1 where nothing better is known.
    """

    when: str
    loss: Loss
    upper: float
    event: float
    through: str = ""

    @property
    def sentence(self) -> str:
        """The same in words."""
        from discreet.privacy import in_words

        lost = f"{self.when}, one person may have lost at most {in_words(self.loss)}{self.through}"
        if self.upper >= 1:
            return f"{lost}, which is too much to bound what a belief of 1 % in what is true about them can become."
        off = f", except with probability {self.event:g}" if self.event else ""
        return f"{lost}: a belief of 1 % in what is true about them rises at most to {_percent(self.upper)}{off}."

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON."""
        from discreet.privacy import to_json

        return {"when": self.when, "loss": to_json(self.loss), "prior": 0.01, "upper": self.upper, "event": self.event}


def meanings(account: Account, now: dt.datetime, delta: Fraction) -> list[Meaning]:
    """What is spent, what is left, and what windows to come add; at least at δ `delta` where there is one."""
    from discreet.privacy import parts

    full = _sum(account.lifetime, account.remaining)
    windows = f" in {account.windows} windows" if account.windows > 1 else ""
    totals = [(f"So far{windows}", account.lifetime), ("When what is left is spent", full)]
    ahead, why = _ahead(account, now)
    if ahead:
        totals.append((why, _sum(full, account.cap, ahead)))
    through = " through this account" if account.name else ""
    return [Meaning(when, loss, *_belief(loss, delta), through) for when, loss in totals if any(parts(loss))]


def odometer(loss: Loss, delta: Fraction) -> tuple[float, Fraction] | None:
    """ε and δ that bound a total at every moment, whatever is asked next; None if none are known."""
    from discreet.privacy import currency, parts
    from discreet.privacy.filters import Odometer

    unit, numbers = currency(loss), parts(loss)
    if unit in ("pure", "approx"):
        return float(numbers[0]), sum(numbers[1:], Fraction(0))
    if numbers[0] == 0:
        return 0.0, numbers[1]
    try:
        epsilon = Odometer(delta).epsilon(loss)
    except ParameterError:
        return None
    return (epsilon, delta + numbers[1]) if math.isfinite(epsilon) else None


def _ahead(account: Account, now: dt.datetime) -> tuple[int, str]:
    """How many windows to look ahead, and in what words."""
    from discreet.ledger import next_start

    if account.every is None or (account.until is not None and account.until <= now):
        return 0, ""
    if account.until is None:
        return _AHEAD, f"After {_AHEAD} more windows like this"
    count, at = 0, next_start(account.every, account.since)
    while at < account.until and count < _FAR:
        count, at = count + 1, next_start(account.every, at)
    day = f"{account.until:%Y-%m-%d}"
    return count, f"After {count} more windows like this" + ("" if at < account.until else f", the last before {day}")


def _sum(loss: Loss, other: Loss, times: int = 1) -> Loss:
    from discreet.privacy import parts

    return type(loss)(*(a + times * b for a, b in zip(parts(loss), parts(other), strict=True)))


def _belief(loss: Loss, delta: Fraction) -> tuple[float, float]:
    """The most that a belief of 1 % rises to, and the probability of the event in which it may rise further.

    The bound that (ε, δ) gives on beliefs fails with more than δ, so the event is given ten times as much.
    """
    from discreet.privacy import currency, parts

    numbers = parts(loss)
    own = sum(numbers[1:], Fraction(0))
    pure = not any(numbers) or (currency(loss) in ("pure", "approx") and own == 0)
    event = Fraction(0) if pure else max(delta, 10 * own)
    if event >= 1:
        return 1.0, 0.0
    return loss.posterior(_PRIOR, event)[1], float(event)


def _percent(share: float) -> str:
    """Three significant digits, rounded up."""
    scale = 10.0 ** (2 - math.floor(math.log10(share)) - 2)
    integer = math.ceil(share * 100 * scale - 1e-9)
    return f"{integer / scale:.10g} %" if integer < 100 * scale else "almost 100 %"
