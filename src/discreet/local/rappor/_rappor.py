"""RAPPOR: Bloom filters of texts in two stages, for values that nobody could list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal
from discreet.local._domain import Domain, integer, texts_of
from discreet.local._remembered import remembered_rows
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local._scheme import Scheme, check_lifetime
from discreet.local.frequencies._hash_families import HASH
from discreet.local.frequencies._unary import bit_counts
from discreet.local.rappor._decode import bloom_rows, decoded
from discreet.local.rappor._estimate import RapporEstimate
from discreet.local.rappor._two_stage import TwoStage, lifetime_of, policy_of, stages_for, two_stage
from discreet.noise import Draws, fresh_draws, remembered_draws
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["Rappor"]

_MOST_BITS, _MOST_HASHES, _MOST_COHORTS = 2**12, 16, 2**12
_MOST_CANDIDATES = 2**16


@dataclass(frozen=True, slots=True, init=False)
class Rappor(Scheme[RapporEstimate]):
    """Texts of no known domain: each sets `hashes` of `bits` bits, which are reported as by `BasicRappor`.

    A client is in one of `cohorts` cohorts, as its secret has it, and each cohort hashes in its own way; so texts that
    share bits in one differ in others. Values are texts; write numbers as you want to find them again. A report is the
    cohort and the bits. `server.estimate(candidates)` says which of the candidates are there, and how often.

    `loss` is ε₁, of one report; `permanent_loss` is ε∞, of all the reports of a value together. They are attained by
    values that share no bit; others lose less. With p = 0 and q = 1 reports are the permanent response
    itself; only then can `longitudinal` be ``"once"``. The cohort is public. Raises `ParameterError` for p or q outside
    of 0 … 1, where p = q, f = 0 or f = 1, or nearly so, and unless there are 2 to 4096 bits, 1 to 16 hashes, at most
    half as many as bits, and 1 to 4096 cohorts.
    Source: Erlingsson, Pihur and Korolova 2014; ``proofs/rappor.md``.

    >>> scheme = Rappor(p="0.39", q="0.61", f="0.45", bits=8, hashes=2, cohorts=128)
    >>> round(scheme.loss.epsilon(), 3), round(scheme.permanent_loss.epsilon(), 3)
    (0.973, 4.947)
    >>> estimate = scheme.server().add(scheme.simulate(["a"] * 30_000)).estimate(candidates=["a", "b"])
    >>> estimate.significant(level="0.999999999")
    ('a',)
    """

    protocol: ClassVar[str] = "rappor"
    hash_names: ClassVar[tuple[str, ...]] = (HASH,)

    p: Fraction
    q: Fraction
    f: Fraction
    bits: int
    hashes: int
    cohorts: int
    longitudinal: Longitudinal

    def __init__(  # noqa: PLR0913 (all but three by keyword)
        self,
        p: Number,
        q: Number,
        f: Number,
        *,
        bits: int,
        hashes: int,
        cohorts: int,
        longitudinal: Longitudinal = "memoize",
    ) -> None:
        stages = two_stage(p, q, f)
        _check_sizes(bits, hashes, cohorts)
        object.__setattr__(self, "p", stages.p)
        object.__setattr__(self, "q", stages.q)
        object.__setattr__(self, "f", stages.f)
        object.__setattr__(self, "bits", int(bits))
        object.__setattr__(self, "hashes", int(hashes))
        object.__setattr__(self, "cohorts", int(cohorts))
        object.__setattr__(self, "longitudinal", policy_of(longitudinal, stages))

    @classmethod
    def from_epsilon(  # noqa: PLR0913 (all but two by keyword)
        cls,
        epsilon: Number,
        report_epsilon: Number | None = None,
        *,
        bits: int,
        hashes: int,
        cohorts: int,
        longitudinal: Longitudinal = "memoize",
    ) -> Rappor:
        """The scheme whose reports of a value reveal ε∞ = `epsilon` in all, and ε₁ = `report_epsilon` each.

        p = 1 − q. Neither is exceeded; each is missed by less than 1e-20. Without `report_epsilon`, reports are the
        permanent response itself (p = 0, q = 1) and each has all of ε. Raises `ParameterError` as the class does, and
        unless 1e-6 ≤ report_epsilon < epsilon ≤ 100.

        >>> scheme = Rappor.from_epsilon(epsilon=4, report_epsilon=1, bits=32, hashes=2, cohorts=64)
        >>> scheme.loss.epsilon(), scheme.permanent_loss.epsilon()
        (1.0, 4.0)
        """
        _check_sizes(bits, hashes, cohorts)
        stages = stages_for(epsilon, report_epsilon, int(hashes))
        return cls(stages.p, stages.q, stages.f, bits=bits, hashes=hashes, cohorts=cohorts, longitudinal=longitudinal)

    @property
    def loss(self) -> Loss:
        """Pure ε₁ of one report: h·|ln(q*(1 − p*) / (p*(1 − q*)))|, rounded up by less than 1e-21.

        Source: Erlingsson, Pihur and Korolova 2014, Theorem 2; ``proofs/rappor.md``, section 2.
        """
        return pure(self.hashes * self._stages.epsilon(1))

    @property
    def permanent_loss(self) -> Loss:
        """Pure ε∞ of any number of reports of one value: 2h·ln((1 − f/2) / (f/2)), rounded up by less than 1e-21.

        Source: Erlingsson, Pihur and Korolova 2014, Theorem 1.
        """
        return pure(self.hashes * self._stages.permanent_epsilon)

    def lifetime_loss(self, *, reports: int, values: int) -> Loss:
        """As `Scheme.lifetime_loss`; under ``"memoize"`` exactly, so it is at most reports·ε₁ and at most values·ε∞.

        There, neighbours differ in what the values are, and not in which reports have the same one: when a person's
        value changes is not hidden. Source: ``proofs/rappor.md``, section 4.

        >>> scheme = Rappor(p="0.39", q="0.61", f="0.45", bits=8, hashes=2, cohorts=128)
        >>> [round(scheme.lifetime_loss(reports=n, values=1).epsilon(), 3) for n in (1, 2, 10, 1000)]
        [0.973, 1.881, 4.806, 4.947]
        """
        check_lifetime(reports, values)
        if self._stages.plain:
            return (reports if self.longitudinal == "once" else values) * self.loss
        return pure(self.hashes * lifetime_of(self._stages, reports, values))

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them, and the name of the hash."""
        stages = {"p": str(self.p), "q": str(self.q), "f": str(self.f)}
        return {**stages, "bits": self.bits, "hashes": self.hashes, "cohorts": self.cohorts, "hash": HASH}

    @property
    def layout(self) -> Layout:
        """The cohort, and the bits."""
        return Layout((self.cohorts,), self.bits)

    @property
    def cells(self) -> int:
        """For each cohort the number of its reports, and of the ones at each bit."""
        return self.cohorts * (self.bits + 1)

    def prepare(self, values: Any) -> NDArray[Any]:
        """The texts, one or many."""
        many = texts_of(values)
        texts = np.empty(len(many), dtype=object)
        texts[:] = many
        return texts

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A cohort and a permanent response that are then forgotten, and a report of it."""
        cohort = draws.below(self.cohorts, len(prepared))
        return self._reports(cohort, self._permanent(prepared, cohort, draws), draws)

    def remember(self, prepared: NDArray[Any], secret: bytes) -> Bytes:
        """The cohort and the permanent response are remembered, and each report of them is drawn afresh."""
        cohort = remembered_draws(secret, self.label + b"cohort").below(self.cohorts, 1)

        def permanent(value: NDArray[Any], draws: Draws) -> Bytes:
            return self._permanent(value, cohort, draws)

        width = -(-self.bits // 8)
        responses = remembered_rows(prepared, width, permanent, secret, self.label + b"value\0")
        return self._reports(np.repeat(cohort, len(prepared)), responses, fresh_draws())

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count, in each cohort, the reports and the ones of each bit."""
        table = counts.reshape(self.cohorts, self.bits + 1)
        cohort = fields.numbers[0]
        held = np.bincount(cohort, minlength=self.cohorts)
        table[:, 0] += held
        rows = fields.bits[np.argsort(cohort.astype(np.uint16), kind="stable")]
        ends = np.cumsum(held)
        for each in np.flatnonzero(held):
            table[each, 1:] += bit_counts(rows[ends[each] - held[each] : ends[each]], self.bits)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> RapporEstimate:
        """By regression of the bits on the candidates' filters: `discreet.local.RapporEstimate`."""
        domain = _domain_of(candidates)
        table = counts.reshape(self.cohorts, self.bits + 1)
        one, zero = float(self._stages.one), float(self._stages.zero)
        return decoded(domain, table, self.hashes, (one, zero), reports)

    @property
    def _stages(self) -> TwoStage:
        return TwoStage(self.p, self.q, self.f)

    def _permanent(self, texts: NDArray[Any], cohort: Integers, draws: Draws) -> Bytes:
        return self._stages.permanent(bloom_rows(texts, cohort, self.bits, self.hashes), self.bits, draws)

    def _reports(self, cohort: Integers, responses: Bytes, draws: Draws) -> Bytes:
        return self.layout.pack(cohort, bits=self._stages.report(responses, self.bits, draws))


def _check_sizes(bits: int, hashes: int, cohorts: int) -> None:
    for name, number, least, most in (
        ("bits", bits, 2, _MOST_BITS),
        ("hashes", hashes, 1, _MOST_HASHES),
        ("cohorts", cohorts, 1, _MOST_COHORTS),
    ):
        integer(number, name, least, most)
    if 2 * hashes > bits:
        raise ParameterError(f"hashes must be at most half of bits = {bits}, got {hashes}: two values need bits each")


def _domain_of(candidates: Sequence[str] | None) -> Domain:
    if candidates is None:
        raise ParameterError("this scheme has no domain: give estimate(candidates=[...]), the texts to look for")
    names = (candidates,) if isinstance(candidates, str) else tuple(candidates)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("candidates are texts, each of them once")
    if not 1 <= len(names) <= _MOST_CANDIDATES:
        raise ParameterError(f"candidates are 1 to {_MOST_CANDIDATES} texts, got {len(names)}; look in parts for more")
    return Domain(len(names), names)
