"""Privacy loss as data: what a release reveals, described and not yet interpreted, and how losses combine.

A node only describes. What it means in a definition of differential privacy is computed by an `Interpreter`, which
`discreet.privacy.accounting` provides. A new node or a new meaning touches one side only. The leaves are in
`_leaves.py`; the combinators (sums, multiples, sampling, shuffling, groups, disjoint parts) are here, beside the
methods of `Loss` that build them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import ClassVar, Literal

from discreet.errors import ParameterError
from discreet.privacy.losses._interpreter import Interpreter
from discreet.privacy.losses._notation import exact_text, written
from discreet.privacy.losses._unit import Relation, checked_relation, common_relation
from discreet.privacy.losses._validation import LEAST, MOST_COUNT, check_integer, fraction_in, probability
from discreet.rational import Number, decimal_text

__all__ = [
    "GroupLoss",
    "Loss",
    "ParallelLoss",
    "SampledLoss",
    "Scheme",
    "ShuffledLoss",
    "SubstitutedLoss",
    "SumLoss",
    "TimesLoss",
    "check_losses",
]

Scheme = Literal["poisson", "without_replacement"]

_LEAST_REPORT, _MOST_REPORT = Fraction(1, 10**12), 10_000  # the ε for which the shuffle bound keeps its digits
_MOST_REPORTS = 10**100
_ONE = Fraction(1)
_MOST_SUMMANDS = 50  # that a sum shows with plus signs; the parser limits how deep they nest


class Loss:
    """An immutable description of privacy loss. A budget is a loss that somebody accepts.

    Losses add (sequential, adaptive composition) and take integer multiples. Build them with `pure`, `approx`,
    `rho`, `mu`, `gaussian` and their kin; the node classes are for interpreters. `from_text` reads what ``repr``
    writes.

    >>> from discreet.privacy import gaussian, pure
    >>> step = pure(0.1)
    >>> (30 * step).fits(pure(3)), (31 * step).fits(pure(3))
    (True, False)
    >>> run = 100 * gaussian(30)
    >>> round(run.epsilon(delta=1e-6), 4)
    1.448
    >>> 10_000 * gaussian(1.1).sampled(0.01) + pure(0.1)
    10000 * gaussian(1.1).sampled(0.01) + pure(0.1)
    """

    __slots__ = ()

    interpreter: ClassVar[Interpreter[Loss]]
    """What gives losses their meaning; `discreet.privacy` sets it when it is imported."""

    @property
    def relation(self) -> Relation | None:
        """The neighbour relation this loss is valid for; `None`: the one its sensitivity was computed for.

        Raises `ParameterError` for a sample of a loss that is not valid for the neighbours of that sample.

        >>> from discreet.privacy import gaussian
        >>> gaussian(1).relation, gaussian(1).sampled(0.01).relation
        (None, 'add_remove')
        """
        return None

    @property
    def covers_substitution(self) -> bool:
        """Whether it is a loss for groups of two or more by add/remove: a substitution is such a group."""
        return False

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The losses that this one is built from; none for a leaf."""
        return ()

    @property
    def multiplicity(self) -> int:
        """The largest product of counts and sizes of groups on the way from this loss to one of its leaves."""
        return max([loss.multiplicity for loss in self.inner]) if self.inner else 1

    @property
    def least_rate(self) -> Fraction:
        """The least product of rates of samples, 0 left out, on the way from this loss to one of its leaves."""
        return min([loss.least_rate for loss in self.inner]) if self.inner else _ONE

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return _added(self, other)

    def __radd__(self, other: int) -> Loss:
        # Python's `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def __mul__(self, count: int) -> Loss:
        if isinstance(count, bool) or not isinstance(count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if count < 0:
            raise ParameterError("a loss can be taken a whole number of times, 0 or more")
        return TimesLoss(count, self)

    __rmul__ = __mul__

    def sampled(self, rate: Number, scheme: Scheme = "poisson") -> Loss:
        """The loss when the release sees only a secret random sample of the records, drawn afresh each time.

        ``"poisson"``: each record alone with probability `rate`; neighbours by add/remove.
        ``"without_replacement"``: a uniform subset with a share `rate` of the n records; neighbours by substitution.
        Raises `ParameterError` unless rate is 0 or in [1e-100, 1] and the loss is valid for that relation.
        Source: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.

        >>> from discreet.privacy import pure
        >>> round(pure(1).sampled(0.01).epsilon(), 6)  # ln(1 + 0.01 (e − 1))
        0.017037
        """
        node = SampledLoss(probability(rate, "rate"), scheme, self)
        _ = node.relation  # refuses a loss that is valid for other neighbours
        return node

    def shuffled(self, n: int) -> Loss:
        """The loss of `n` people's local reports, one each, of which only the unordered collection is seen.

        This loss is that of one report for its author and must be pure ε of 0 or 1e-12 to 10,000; neighbours by
        substitution of one person's data. Raises `ParameterError` for other losses and unless 1 ≤ n ≤ 10¹⁰⁰.
        Source: Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.2, bounded from both sides.

        >>> from discreet.privacy import pure
        >>> pure(1).shuffled(10_000).epsilon(delta=1e-6) < 0.1
        True
        """
        return ShuffledLoss(n, self)

    def group(self, k: int) -> Loss:
        """The loss of `k` people who change together.

        Raises `ParameterError` unless 1 ≤ k ≤ 10¹⁵. Source: Vadhan 2017, "The complexity of differential privacy",
        Lemma 2.2, with its sum as it stands in the proof: (kε, δ·(e^{kε}−1)/(e^ε−1)).

        >>> from discreet.privacy import pure, rho
        >>> pure(0.5).group(10).epsilon(), rho(0.5).group(3).rho()
        (5.0, 4.5)
        """
        node = GroupLoss(k, self)
        return self if node.k == 1 else node

    def parallel(self, *others: Loss, relation: Relation = "add_remove") -> Loss:
        """The loss of releases on disjoint parts of the data, one on each.

        Which part a record belongs to is a function of that record alone, chosen without looking at the data. Under
        add/remove the worst part counts once; under substitution a record may move, so the worst part counts twice.
        The losses must be valid for add/remove: a part gains or loses a record. Raises `ParameterError` for others.
        Source: McSherry 2009, Theorem 4.

        >>> from discreet.privacy import pure
        >>> pure(1).parallel(pure(2)).epsilon(), pure(1).parallel(pure(2), relation="substitute").epsilon()
        (2.0, 4.0)
        """
        return ParallelLoss((self, *others), relation)

    def under(self, relation: Relation) -> Loss:
        """The same releases under another neighbour relation. To ``"substitute"``: two steps of add/remove.

        The other direction does not hold in general and raises `ParameterError`: a loss stated for substitution may
        reveal how many records there are.

        >>> from discreet.privacy import pure
        >>> pure(1).sampled(0.5).under("substitute").relation
        'substitute'
        """
        wanted = checked_relation(relation)
        if self.relation == wanted:
            return self
        if wanted == "substitute":
            return SubstitutedLoss(self)
        if self.relation is None:
            return self
        raise ParameterError("a loss for substitution does not bound adding or removing a record")

    def epsilon(self, delta: Number = 0) -> float:
        """The least ε that discreet can certify at this δ: an upper bound, rounded up; ``inf`` where none is known.

        >>> from discreet.privacy import rho
        >>> round(rho(0.1).epsilon(delta=1e-6), 4)
        2.1419
        """
        return self.interpreter.epsilon(self, delta)

    def delta(self, epsilon: Number) -> float:
        """The least δ that discreet can certify at this ε: an upper bound, rounded up, at most 1.

        >>> from discreet.privacy import gaussian
        >>> f"{gaussian(3.7306).delta(1):.3e}"
        '1.000e-05'
        """
        return self.interpreter.delta(self, epsilon)

    def bounds(
        self, *, delta: Number | None = None, epsilon: Number | None = None, gap: float = 1e-3
    ) -> tuple[float, float]:
        """Certified (lower, upper): of ε at the given `delta`, or of δ at the given `epsilon`.

        No ε (or δ) below the lower end holds for every release with this loss; the upper end does. `gap` is the
        relative width that is asked of numeric composition. Where it is missed, the wider bracket is returned.

        >>> from discreet.privacy import pure
        >>> low, high = (100 * pure(0.1)).bounds(delta=1e-6)
        >>> round(low, 4), round(high, 4)
        (4.7746, 4.7746)
        """
        return self.interpreter.bounds(self, delta=delta, epsilon=epsilon, gap=gap)

    def tradeoff(self, alpha: Number) -> float:
        """The least type II error of any test between neighbours with type I error `alpha`, rounded down.

        Raises `ParameterError` unless 0 ≤ alpha ≤ 1. Source: Dong, Roth and Su 2022; Wasserman and Zhou 2010.

        >>> from discreet.privacy import mu, pure
        >>> round(mu(1).tradeoff(0.05), 4), round(pure(1).tradeoff(0.05), 4)
        (0.7405, 0.8641)
        """
        return self.interpreter.tradeoff(self, alpha)

    def renyi(self, order: Number) -> float:
        """The Rényi divergence of this order, in nats: an upper bound; ``inf`` where there is none.

        Raises `ParameterError` unless order > 1.
        """
        return self.interpreter.renyi(self, order)

    def rho(self) -> float:
        """The ρ of zero-concentrated differential privacy, rounded up; raises `ParameterError` where there is none."""
        return self.interpreter.rho(self)

    def mu(self) -> float:
        """The μ of Gaussian differential privacy, rounded up; raises `ParameterError` where there is none."""
        return self.interpreter.mu(self)

    def posterior(self, prior: Number, delta: Number = 0, *, independent: bool = False) -> tuple[float, float]:
        """The range in which the belief about one person ends of an adversary whose belief was `prior`.

        At δ = 0 on every output: the odds move by at most e^{±2ε}, against what the same output would have taught
        without the person's data; for *any* prior, however records depend on each other. With ``independent=True``
        (the person's record is independent of all others, the loss is for substitution) the odds move by at most
        e^{±ε} from the prior itself.

        At δ > 0 except on an event of probability at most δ, over what is true and the output. Then, in general, it is
        the belief in what is *true* that stays within a factor e^{±2ε}. The event is the tail of the privacy loss, not
        the δ of (ε, δ). A loss for add/remove counts twice for ``independent=True``.

        Raises `ParameterError` unless 0 ≤ prior ≤ 1, and at δ = 0 if the loss is not pure.
        Sources: Kifer and Machanavajjhala 2014; Dwork and Roth 2014, Section 2.3; proofs/composition.md.

        >>> from discreet.privacy import pure
        >>> [round(b, 4) for b in pure(1).posterior(0.01)]
        [0.0014, 0.0695]
        >>> [round(b, 4) for b in pure(1).posterior(0.01, independent=True)]
        [0.0037, 0.0267]
        """
        return self.interpreter.posterior(self, prior, delta, independent=independent)

    def at_risk(self, n: int) -> float:
        """The expected number of people among `n` whom the δ of a stated (ε, δ) or (ρ, δ) leaves without protection."""
        return self.interpreter.at_risk(self, n)

    def fits(self, budget: Loss) -> bool:
        """Whether a release of this loss stays within the budget.

        The budget is stated in one currency: `pure`, `approx`, `rho` or `mu`, or sums and multiples of one of them; for
        others `ParameterError` is raised, as they are known from above only. Decided exactly in that currency where the
        loss has a value there. A composition that does not fit
        so, against a budget with a δ, fits if its certified ε at that δ does; that holds for schedules fixed in
        advance, and a ledger, whose spends are chosen one after another, never relies on it.
        """
        return self.interpreter.fits(self, budget)

    def explain(self) -> str:
        """What this loss is and what it means, in a few sentences for people."""
        return self.interpreter.explain(self)


def check_losses(terms: Iterable[object]) -> None:
    """Raises `ParameterError` unless all are losses."""
    for term in terms:
        if not isinstance(term, Loss):
            raise ParameterError(f"a loss is built from losses, such as dp.pure(1), got {type(term).__name__}")


def _check_size(loss: Loss) -> None:
    """Counts times sizes of groups come to 10¹⁵ at most within one loss, and rates of samples to 1e-100 at least.

    Otherwise raises `ParameterError`.
    """
    if loss.multiplicity > MOST_COUNT:
        raise ParameterError(f"counts and sizes of groups must multiply to at most {MOST_COUNT:,} within one loss")
    if loss.least_rate < LEAST:
        raise ParameterError("rate must be 0 or at least 1e-100, also as a product of rates within one loss")


def _relation_of_all(losses: Sequence[Loss]) -> Relation | None:
    """The one relation that several losses hold under; raises `ParameterError` if there is none."""
    try:
        return common_relation([loss.relation for loss in losses])
    except ParameterError:
        if all(loss.relation != "add_remove" or loss.covers_substitution for loss in losses):
            return "substitute"
        raise


def _operand(loss: Loss) -> str:
    """The loss as it is written before a method or after a count."""
    return f"({loss!r})" if isinstance(loss, SumLoss | TimesLoss) else repr(loss)


@dataclass(frozen=True, slots=True)
class SumLoss(Loss):
    """Several releases about the same people, the later ones possibly chosen after seeing the earlier.

    Raises `ParameterError` if a term is not a loss, or if the terms protect neighbours of different kinds.
    """

    terms: tuple[Loss, ...]
    neighbours: Relation | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_losses(self.terms)
        object.__setattr__(self, "neighbours", _relation_of_all(self.terms))

    def __repr__(self) -> str:
        if len(self.terms) < 2 or any(isinstance(term, SumLoss) for term in self.terms):
            return f"sum[[{', '.join(map(repr, self.terms))}]]"  # what no sum of Python makes
        runs: list[str] = []
        for term, copies in groupby(self.terms):
            count = len(list(copies))
            runs += [repr(term)] * count if count < 3 else [f"sum([{term!r}] * {count})"]
        return " + ".join(runs) if len(runs) <= _MOST_SUMMANDS else f"sum([{', '.join(runs)}])"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The terms."""
        return self.terms

    @property
    def relation(self) -> Relation | None:
        """The one that all terms hold under."""
        return self.neighbours

    @property
    def covers_substitution(self) -> bool:
        """If every term for add/remove does."""
        return all(term.relation != "add_remove" or term.covers_substitution for term in self.terms)


def _added(first: Loss, second: Loss) -> SumLoss:
    """One flat sum, whose old terms are not checked again."""
    total = object.__new__(SumLoss)
    left = first.terms if isinstance(first, SumLoss) else (first,)
    right = second.terms if isinstance(second, SumLoss) else (second,)
    object.__setattr__(total, "terms", left + right)
    neighbours = first.relation
    if second.relation != neighbours:
        neighbours = _relation_of_all((first, second))
    object.__setattr__(total, "neighbours", neighbours)
    return total


@dataclass(frozen=True, slots=True)
class TimesLoss(Loss):
    """The same loss, `count` times: 0 to 10¹⁵, also as a product with counts and group sizes within it."""

    count: int
    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        check_integer(self, "count", 0)
        _check_size(self)

    def __repr__(self) -> str:
        return f"{self.count} * {_operand(self.term)}"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The term."""
        return (self.term,)

    @property
    def relation(self) -> Relation | None:
        """That of the term."""
        return self.term.relation

    @property
    def covers_substitution(self) -> bool:
        """If the term does."""
        return self.term.covers_substitution

    @property
    def multiplicity(self) -> int:
        """The count times that of the term."""
        return max(self.count, 1) * self.term.multiplicity


@dataclass(frozen=True, slots=True)
class SampledLoss(Loss):
    """A release that sees a secret random sample: each record with probability `rate`, or a fixed share of them."""

    rate: Fraction
    scheme: Scheme
    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        if not 0 <= fraction_in(self, "rate") <= 1:
            raise ParameterError(f"rate must be between 0 and 1, got {decimal_text(self.rate)}")
        if self.scheme not in ("poisson", "without_replacement"):
            raise ParameterError(f"scheme must be 'poisson' or 'without_replacement', got {self.scheme!r}")
        _check_size(self)

    def __repr__(self) -> str:
        scheme = "" if self.scheme == "poisson" else f", {self.scheme!r}"
        return f"{_operand(self.term)}.sampled({exact_text(self.rate)}{scheme})"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The term."""
        return (self.term,)

    @property
    def relation(self) -> Relation | None:
        """Add/remove for Poisson sampling, else substitution; raises `ParameterError` if the term holds for neither."""
        if self.scheme == "poisson":
            return common_relation(("add_remove", self.term.relation))
        return "substitute" if self.term.covers_substitution else common_relation(("substitute", self.term.relation))

    @property
    def least_rate(self) -> Fraction:
        """The rate, unless it is 0, times that of the term."""
        return (self.rate or _ONE) * self.term.least_rate


@dataclass(frozen=True, slots=True)
class ShuffledLoss(Loss):
    """`n` local reports, each with the loss `term` for its author, published in random order."""

    n: int
    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        check_integer(self, "n", most=_MOST_REPORTS)
        eps = self.interpreter.as_pure(self.term)
        if eps is None or self.term.relation == "add_remove":
            raise ParameterError(
                "only a local loss of pure epsilon, valid under substitution, is amplified by shuffling"
            )
        if eps and not _LEAST_REPORT <= eps <= _MOST_REPORT:
            raise ParameterError(
                f"epsilon of a shuffled report must be 0 or from 1e-12 to 10,000, got {decimal_text(eps)}"
            )

    def __repr__(self) -> str:
        return f"{_operand(self.term)}.shuffled({self.n})"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The term."""
        return (self.term,)

    @property
    def relation(self) -> Relation | None:
        """Substitution: the number of reports is public."""
        return "substitute"


@dataclass(frozen=True, slots=True)
class GroupLoss(Loss):
    """The loss of up to `k` people together."""

    k: int
    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        check_integer(self, "k")
        _check_size(self)

    def __repr__(self) -> str:
        return written(f"{_operand(self.term)}.group", self.k, as_node=self.k == 1)

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The term."""
        return (self.term,)

    @property
    def relation(self) -> Relation | None:
        """That of the term."""
        return self.term.relation

    @property
    def covers_substitution(self) -> bool:
        """From two people on, if the term is for add/remove."""
        return self.k >= 2 and self.term.relation == "add_remove"

    @property
    def multiplicity(self) -> int:
        """The size of the group times that of the term."""
        return self.k * self.term.multiplicity


@dataclass(frozen=True, slots=True)
class SubstitutedLoss(Loss):
    """A loss valid for add/remove, read under substitution: at most two steps."""

    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        if self.term.relation == "substitute":
            raise ParameterError("a loss that holds under substitution needs no conversion to it")

    def __repr__(self) -> str:
        return f"{_operand(self.term)}.under('substitute')"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The term."""
        return (self.term,)

    @property
    def relation(self) -> Relation | None:
        """Substitution."""
        return "substitute"


@dataclass(frozen=True, slots=True)
class ParallelLoss(Loss):
    """Releases on disjoint parts; which part a record is in depends on that record alone."""

    terms: tuple[Loss, ...]
    neighbours: Relation = field(default="add_remove")

    def __post_init__(self) -> None:
        check_losses(self.terms)
        checked_relation(self.neighbours)
        if not self.terms:
            raise ParameterError("parallel takes one loss or more")
        common_relation(("add_remove", *(term.relation for term in self.terms)))

    def __repr__(self) -> str:
        arguments = list(map(repr, self.terms[1:]))
        if self.neighbours != "add_remove":
            arguments.append(f"relation={self.neighbours!r}")
        return f"{_operand(self.terms[0])}.parallel({', '.join(arguments)})"

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The terms."""
        return self.terms

    @property
    def relation(self) -> Relation | None:
        """The one that it was stated for."""
        return self.neighbours
