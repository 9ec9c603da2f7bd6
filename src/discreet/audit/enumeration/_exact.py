"""Exact mode: the true loss of a mechanism whose outputs can be enumerated, and whether a claim about it holds."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from discreet.audit.black_box._check import checked
from discreet.audit.black_box._claim import stated_point
from discreet.audit.enumeration._distribution import Distribution, Probability, shown
from discreet.audit.enumeration._enumeration import Draw, enumerate_distribution
from discreet.audit.enumeration._loss import LARGEST_EPSILON, Side
from discreet.errors import ParameterError
from discreet.privacy import Loss, as_approx, budget_of, in_words, to_json
from discreet.rational import Number, rational

__all__ = ["ExactVerdict", "exact"]

Distributions = Callable[[Any], Distribution | Mapping[Any, Probability]]
"""A function from data to the distribution of the outputs on it."""

_CURVE_POINTS = 24
_BEYOND = (0.5, 1.5, 2.0, 4.0)
_ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0)
_ORDERS_OF_RHO = (*(1 + 10 ** (i / 8) for i in range(-24, 1)), *_ORDERS[2:], 64.0, 256.0)
_WITNESSES = 5


@dataclass(frozen=True, slots=True)
class ExactVerdict:
    """What enumeration proves about a claim.

    Attributes
    ----------
    claim, delta, claimed
        The claim, and the ε that it states at this δ.
    epsilon
        (low, high): the true ε at `delta`, over all pairs and both directions. The lower end is certain; the upper one
        holds but for outputs of probability `missing`.
    delta_at_claimed
        (low, high): the true δ at the claimed ε, with certainty.
    violated
        Whether the lower ends lie above the claim: at `delta`, and for a claim that is a curve at any ε or Rényi order.
    holds
        Whether the claim is proved: at `delta`, and for a claim that is a curve at each ε that was checked, up to the δ
        that `spare` allows. Never for a claim in ρ, which bounds every Rényi order. If neither `violated` nor `holds`,
        the enumeration does not decide.
    witness
        The likeliest, as text, of the outputs that best distinguish the pair.
    event
        The probability of all these outputs: at least on one data set, at most on the other.
    pair
        The index of the pair that shows most, and the direction: (i, 0) or (i, 1).
    missing
        The probability that the upper end of `epsilon` leaves out: what is not enumerated and outputs that may have
        been missed on one of the data sets; never more than `spare`.
    broken_at
        Where the claim is broken, in words, if it is.
    runs
        How many runs of a program the enumeration took.
    """

    claim: Loss
    delta: float
    claimed: float
    epsilon: tuple[float, float]
    delta_at_claimed: tuple[float, float]
    violated: bool
    holds: bool
    witness: tuple[str, ...]
    event: tuple[float, float]
    pair: tuple[int, int]
    missing: float
    broken_at: str
    runs: int

    @property
    def sentence(self) -> str:
        """The verdict in plain English."""
        low, high = self.epsilon
        true = f"epsilon is {_span(low, high)} at delta = {self.delta:g}"
        evidence = f"{_probabilities_text(self.event)} on the outputs {', '.join(self.witness)}"
        but = f", but for outputs of probability {self.missing:.2g}" if self.missing else ""
        if self.violated:
            return (
                f"The claim of {in_words(self.claim)} is broken: {self.broken_at}. By enumeration, {true}: {evidence}."
            )
        if self.holds:
            return f"The claim of {in_words(self.claim)} holds on these data{but}: by enumeration, {true}."
        if _is_rho(self.claim):
            return f"The claim of {in_words(self.claim)} was not refuted{but}: by enumeration, {true}."
        more = "enumerate more, with a larger mass" if self.runs else "state the probabilities exactly, as fractions"
        return f"The claim of {in_words(self.claim)} is undecided: by enumeration, {true}{but}; {more}."

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain JSON; an infinite number is the text "inf"."""
        document: dict[str, Any] = {
            "kind": "exact",
            "claim": to_json(self.claim),
            "sentence": self.sentence,
            "broken_at": self.broken_at,
            "violated": self.violated,
            "holds": self.holds,
            "witness": list(self.witness),
            "pair": list(self.pair),
            "runs": self.runs,
        }
        numbers = {
            "delta": [self.delta],
            "claimed": [self.claimed],
            "epsilon": self.epsilon,
            "delta_at_claimed": self.delta_at_claimed,
            "event": self.event,
            "missing": [self.missing],
        }
        for name, values in numbers.items():
            plain = ["inf" if math.isinf(value) else value for value in values]
            document[name] = plain if len(plain) > 1 else plain[0]
        return document


def exact(  # noqa: PLR0913 (all but three by keyword)
    mechanism: Distributions | Callable[[Any, Draw], Any],
    pairs: Iterable[tuple[Any, Any]],
    claim: Loss,
    *,
    delta: Number | None = None,
    mass: Number = 1,
    spare: Number = Fraction(1, 10**9),
    limit: int = 1_000_000,
) -> ExactVerdict:
    """The true loss on pairs of data, by enumeration, against a claim: no samples, no error but what is stated.

    All ends are certain: numbers are kept in 512-bit fixed point and rounded outward.

    Parameters
    ----------
    mechanism
        A function of the data alone that returns its distribution, a `Distribution` or a mapping from outputs to
        probabilities; or a program of the data and `draw`, as `enumerate_distribution` takes it.
    pairs
        Pairs of neighbouring data. Each is looked at in both directions.
    claim
        The loss that is claimed.
    delta
        The δ at which ε is stated, as for `check`.
    mass, limit
        How much of a program's distribution to enumerate, and in how many runs at most: see `enumerate_distribution`.
    spare
        The probability of outputs that proofs may leave out: about e^ε times the mass that is not enumerated, or more.

    Costs no privacy: made-up data are meant. Raises `ParameterError` as `enumerate_distribution` and
    `Distribution.from_probabilities`, and without pairs.
    Source: Dwork and Roth 2014, Definition 3.6 and Remark 3.1; for Rényi orders, Mironov 2017, Definition 3.

    >>> from discreet.privacy import pure
    >>> def response(truth, draw):
    ...     return truth if draw({True: 0.75, False: 0.25}) else not truth
    >>> verdict = exact(response, [(True, False)], claim=pure(1))
    >>> verdict.violated, round(verdict.epsilon[0], 4), verdict.witness
    (True, 1.0986, ('True',))
    >>> exact(response, [(True, False)], claim=pure("1.1")).holds
    True
    """
    stated = stated_point(claim, delta)
    spared = rational(spare, "spare")
    if not 0 <= spared < 1:
        raise ParameterError(f"spare must be 0 or more and below 1, got {spare!r}")
    sides, runs = _sides(_distributions(mechanism, mass, limit), checked(pairs))
    return _verdict(sides, runs, claim, stated, spared)


def _distributions(mechanism: Any, mass: Number, limit: int) -> Callable[[Any], Distribution]:
    try:
        count = sum(
            each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
            for each in inspect.signature(mechanism).parameters.values()
        )
    except (TypeError, ValueError):
        count = 0
    if count == 2:
        return lambda data: enumerate_distribution(mechanism, data, mass, limit=limit)
    if count != 1:
        raise ParameterError(
            "exact takes a function of the data that returns its distribution, or a program of the data and draw"
        )

    def law(data: Any) -> Distribution:
        result = mechanism(data)
        if isinstance(result, Distribution):
            return result
        if isinstance(result, Mapping):
            return Distribution.from_probabilities(cast("Mapping[Any, Probability]", result))
        raise ParameterError(
            f"a function of the data alone must return its distribution, output: probability, not "
            f"{type(result).__name__}; a mechanism that draws by itself is audited by check"
        )

    return law


def _sides(law: Callable[[Any], Distribution], pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Side], int]:
    sides: list[Side] = []
    runs = 0
    for one, other in pairs:
        p, q = law(one), law(other)
        sides += [Side(p, q), Side(q, p)]
        runs += p.runs + q.runs
    return sides, runs


def _verdict(
    sides: Sequence[Side], runs: int, claim: Loss, stated: tuple[Fraction, float], spare: Fraction
) -> ExactVerdict:
    delta, claimed = stated
    missing = min(float(spare), max(side.doubtful for side in sides))
    bounds = [side.epsilon_low(delta) for side in sides]
    lows = [low for low, _ in bounds]
    best = max(range(len(sides)), key=lambda i: (lows[i], -i))
    event, p, q = sides[best].event(bounds[best][1])
    points = _points(sides, claim, claimed, delta)
    broken, proved = "", True
    for epsilon, allowed in points:
        low, high = _deltas(sides, epsilon)
        if low > allowed and not broken:
            broken = (
                f"at epsilon = {float(epsilon):.6g}, delta is at least {low:.6g}, and the claim allows {allowed:.6g}"
            )
        proved = proved and high <= allowed + spare
    broken = broken or _broken_order(sides, claim)
    at_claimed = _deltas(sides, points[0][0]) if points and math.isfinite(claimed) else (0.0, 0.0)
    high = max(*lows, *(side.epsilon_high(delta + Fraction(missing)) for side in sides))
    return ExactVerdict(
        claim=claim,
        delta=float(delta),
        claimed=claimed,
        epsilon=(max(lows), high),
        delta_at_claimed=at_claimed,
        violated=bool(broken),
        holds=proved and not broken and not _is_rho(claim),
        witness=_likeliest(event),
        event=(p, q),
        pair=(best // 2, best % 2),
        missing=missing,
        broken_at=broken,
        runs=runs,
    )


def _deltas(sides: Sequence[Side], epsilon: Fraction) -> tuple[float, float]:
    return max(side.delta_low(epsilon) for side in sides), max(side.delta_high(epsilon) for side in sides)


def _points(sides: Sequence[Side], claim: Loss, claimed: float, delta: Fraction) -> list[tuple[Fraction, float]]:
    """Where to compare, the claimed point first: each ε, and the δ that the claim allows there."""
    points: list[tuple[Fraction, float]] = []
    if claimed <= LARGEST_EPSILON:
        stated = as_approx(claim)
        exactly = Fraction(math.nextafter(claimed, math.inf)) if stated is None or stated[1] != delta else stated[0]
        points.append((exactly, float(delta)))
    if not _is_one_point(claim):
        each = max(1, _CURVE_POINTS // len(sides))
        spread = {round(epsilon, 9) for side in sides for epsilon in side.epsilons(each)}
        spread |= {0.0, *(claimed * times for times in _BEYOND)}
        points += [
            (rational(epsilon, "epsilon"), claim.delta(epsilon))
            for epsilon in sorted(spread)
            if epsilon <= LARGEST_EPSILON
        ]
    return points


def _broken_order(sides: Sequence[Side], claim: Loss) -> str:
    if _is_one_point(claim):
        return ""
    for order in _ORDERS_OF_RHO if _is_rho(claim) else _ORDERS:
        allowed = claim.renyi(order)
        reached = max(side.renyi_low(order) for side in sides) if math.isfinite(allowed) else 0.0
        if reached > allowed * (1 + 1e-12):
            return (
                f"the Rényi divergence of order {order:g} is at least {reached:.6g}, and the claim allows {allowed:.6g}"
            )
    return ""


def _is_rho(claim: Loss) -> bool:
    """Whether the claim is one ρ, which is known by its Rényi divergences alone."""
    return _currency(claim) == "rho"


def _is_one_point(claim: Loss) -> bool:
    """Whether the claim is one pair (ε, δ)."""
    return _currency(claim) in {"pure", "approx"}


def _currency(claim: Loss) -> str | None:
    try:
        return budget_of(claim)[0]
    except ParameterError:
        return None


def _likeliest(event: tuple[Hashable, ...]) -> tuple[str, ...]:
    return tuple(shown(key) for key in event[:_WITNESSES])


def _span(low: float, high: float) -> str:
    if math.isinf(low):
        return "infinite"
    near = f"{low:.6g}"
    if high - low <= 1e-6 * (1 + low):
        return near
    return f"at least {near}" if math.isinf(high) else f"between {near} and {high:.6g}"


def _probabilities_text(event: tuple[float, float]) -> str:
    return f"probability {event[0]:.4g} against {event[1]:.4g}"
