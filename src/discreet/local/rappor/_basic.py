"""Basic RAPPOR: a bit for each value of a domain, in two stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._codec import Longitudinal
from discreet.local._domain import Domain, DomainLike, domain_of
from discreet.local._remembered import remembered_rows
from discreet.local._reports import Bytes, Fields, Integers
from discreet.local._scheme import check_lifetime
from discreet.local.frequencies._unary import BitScheme, bit_counts
from discreet.local.rappor._two_stage import TwoStage, lifetime_of, policy_of, stages_for, two_stage
from discreet.noise import Draws, fresh_draws
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["BasicRappor"]


@dataclass(frozen=True, slots=True, init=False)
class BasicRappor(BitScheme):
    """One bit for each value of the domain, randomized twice: once for life, and from that in each report.

    The sender's bit is 1. Each bit is kept as its opposite with probability f/2: the permanent response, a function of
    the client's secret and the value. In each report a bit is 1 with probability q where the kept bit is 1, and p where
    it is 0. `loss` is ε₁, what one report reveals, and `permanent_loss` is ε∞, what all reports of a value together do.
    A report is ⌈d/8⌉ bytes. With p = 0 and q = 1 reports are the permanent response itself; only then can
    `longitudinal` be ``"once"``, with everything drawn afresh. Raises `ParameterError` for a domain of fewer than 2 or
    more than 2**24 values, for p or q outside of 0 … 1, and where p = q, f = 0 or f = 1, or nearly so.
    Source: Erlingsson, Pihur and Korolova 2014, Sections 2 and 3; ``proofs/rappor.md``.

    >>> scheme = BasicRappor(domain=["bus", "car", "train"], p="0.39", q="0.61", f="0.45")
    >>> round(scheme.loss.epsilon(), 3), round(scheme.permanent_loss.epsilon(), 3)
    (0.486, 2.474)
    """

    protocol: ClassVar[str] = "basic_rappor"

    domain: Domain
    p: Fraction
    q: Fraction
    f: Fraction
    longitudinal: Longitudinal
    epsilon: Fraction = field(init=False, repr=False, compare=False)

    def __init__(
        self, domain: DomainLike, p: Number, q: Number, f: Number, *, longitudinal: Longitudinal = "memoize"
    ) -> None:
        stages = two_stage(p, q, f)
        object.__setattr__(self, "domain", domain_of(domain))
        object.__setattr__(self, "p", stages.p)
        object.__setattr__(self, "q", stages.q)
        object.__setattr__(self, "f", stages.f)
        object.__setattr__(self, "longitudinal", policy_of(longitudinal, stages))
        object.__setattr__(self, "epsilon", stages.epsilon(1))

    @classmethod
    def from_epsilon(
        cls,
        domain: DomainLike,
        epsilon: Number,
        report_epsilon: Number | None = None,
        *,
        longitudinal: Longitudinal = "memoize",
    ) -> BasicRappor:
        """The scheme whose reports of a value reveal ε∞ = `epsilon` in all, and ε₁ = `report_epsilon` each.

        p = 1 − q. Neither is exceeded; each is missed by less than 1e-20. Without `report_epsilon`, reports are the
        permanent response itself (p = 0, q = 1) and each has all of ε. Raises `ParameterError` as the class does, and
        unless 1e-6 ≤ report_epsilon < epsilon ≤ 100.

        >>> scheme = BasicRappor.from_epsilon(domain=100, epsilon=2, report_epsilon="0.5")
        >>> scheme.loss.epsilon(), scheme.permanent_loss.epsilon()
        (0.5, 2.0)
        """
        stages = stages_for(epsilon, report_epsilon, 1)
        return cls(domain, stages.p, stages.q, stages.f, longitudinal=longitudinal)

    @property
    def permanent_loss(self) -> Loss:
        """What any number of reports of one value reveal: ε∞ = 2·ln((1 − f/2) / (f/2)), rounded up by less than 1e-23.

        Source: Erlingsson, Pihur and Korolova 2014, Theorem 1 with h = 1.
        """
        return pure(self._stages.permanent_epsilon)

    def lifetime_loss(self, *, reports: int, values: int) -> Loss:
        """As `Scheme.lifetime_loss`; under ``"memoize"`` exactly, so it is at most reports·ε₁ and at most values·ε∞.

        There, neighbours differ in what the values are, and not in which reports have the same one: when a person's
        value changes is not hidden. Source: ``proofs/rappor.md``, section 4.

        >>> scheme = BasicRappor.from_epsilon(domain=100, epsilon=2, report_epsilon="0.5")
        >>> [round(scheme.lifetime_loss(reports=n, values=1).epsilon(), 3) for n in (1, 2, 10, 1000)]
        [0.5, 0.945, 1.981, 2.0]
        """
        check_lifetime(reports, values)
        if self._stages.plain:
            return (reports if self.longitudinal == "once" else values) * self.loss
        return pure(lifetime_of(self._stages, reports, values))

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {"domain": self.domain.to_json(), "p": str(self.p), "q": str(self.q), "f": str(self.f)}

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """q* = f(p + q)/2 + (1 − f)q and p* = f(p + q)/2 + (1 − f)p, where a 1 supports.

        For p > q a 0 supports, and they are 1 − q* and 1 − p*.
        """
        one, zero = self._stages.one, self._stages.zero
        return (one, zero) if self.q > self.p else (1 - one, 1 - zero)

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A permanent response that is then forgotten, and a report of it."""
        return self._stages.report(self._permanent(prepared, draws), self.domain.size, draws)

    def remember(self, prepared: NDArray[Any], secret: bytes) -> Bytes:
        """The permanent response is remembered, and each report of it is drawn afresh."""
        label = self.label + b"value\0"
        permanent = remembered_rows(prepared, self.layout.width, self._permanent, secret, label)
        return self._stages.report(permanent, self.domain.size, fresh_draws())

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count, for each value, the reports that support it."""
        ones = bit_counts(fields.bits, self.domain.size)
        counts += ones if self.q > self.p else len(fields) - ones

    @property
    def _stages(self) -> TwoStage:
        return TwoStage(self.p, self.q, self.f)

    def _permanent(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        bits = np.zeros((prepared.size, self.layout.width), dtype=np.uint8)
        bits[np.arange(prepared.size), prepared >> 3] = 1 << (prepared & 7)
        return self._stages.permanent(bits, self.domain.size, draws)
