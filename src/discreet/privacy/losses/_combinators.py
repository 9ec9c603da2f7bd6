"""What changes a whole loss: sampling, shuffling, groups, disjoint parts, and another neighbour relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss, check_losses
from discreet.privacy.losses._unit import Relation, checked_relation, joined
from discreet.privacy.losses._validation import check_whole, fraction_in, probability
from discreet.rational import Number, decimal_text

__all__ = [
    "Group",
    "Parallel",
    "Sampled",
    "Scheme",
    "Shuffled",
    "Substituted",
    "group",
    "parallel",
    "sampled",
    "shuffled",
    "under",
]

Scheme = Literal["poisson", "without_replacement"]

_REPORT = Fraction(1, 10**12), 10_000  # the ε for which the shuffle bound keeps its digits
_MOST_REPORTS = 10**100


@dataclass(frozen=True, slots=True)
class Sampled(Loss):
    """A release that sees a secret random sample: each record with probability `rate`, or a fixed share of them."""

    rate: Fraction
    scheme: Scheme
    term: Loss

    def __post_init__(self) -> None:
        from discreet.privacy.losses._size import check_size

        check_losses((self.term,))
        if not 0 <= fraction_in(self, "rate") <= 1:
            raise ParameterError(f"rate must be between 0 and 1, got {decimal_text(self.rate)}")
        if self.scheme not in ("poisson", "without_replacement"):
            raise ParameterError(f"scheme must be 'poisson' or 'without_replacement', got {self.scheme!r}")
        check_size(self)


@dataclass(frozen=True, slots=True)
class Shuffled(Loss):
    """`n` local reports, each with the loss `term` for its author, published in random order."""

    n: int
    term: Loss

    def __post_init__(self) -> None:
        from discreet.privacy.accounting._currencies import as_pure

        check_losses((self.term,))
        check_whole(self, "n", most=_MOST_REPORTS)
        eps = as_pure(self.term)
        if eps is None or self.term.relation == "add_remove":
            raise ParameterError(
                "only a local loss of pure epsilon, valid under substitution, is amplified by shuffling"
            )
        if eps and not _REPORT[0] <= eps <= _REPORT[1]:
            raise ParameterError(
                f"epsilon of a shuffled report must be 0 or from 1e-12 to 10,000, got {decimal_text(eps)}"
            )


@dataclass(frozen=True, slots=True)
class Group(Loss):
    """The loss of up to `k` people together."""

    k: int
    term: Loss

    def __post_init__(self) -> None:
        from discreet.privacy.losses._size import check_size

        check_losses((self.term,))
        check_whole(self, "k")
        check_size(self)


@dataclass(frozen=True, slots=True)
class Substituted(Loss):
    """A loss valid for add/remove, read under substitution: at most two steps."""

    term: Loss

    def __post_init__(self) -> None:
        check_losses((self.term,))
        if self.term.relation == "substitute":
            raise ParameterError("a loss that holds under substitution needs no conversion to it")


@dataclass(frozen=True, slots=True)
class Parallel(Loss):
    """Releases on disjoint parts; which part a record is in depends on that record alone."""

    terms: tuple[Loss, ...]
    neighbours: Relation = field(default="add_remove")

    def __post_init__(self) -> None:
        check_losses(self.terms)
        checked_relation(self.neighbours)
        if not self.terms:
            raise ParameterError("parallel takes one loss or more")
        joined(("add_remove", *(term.relation for term in self.terms)))


def sampled(loss: Loss, rate: Number, scheme: Scheme = "poisson") -> Loss:
    """Sampling: the release sees a secret sample that is drawn afresh each time.

    ``"poisson"``: each record alone with probability `rate`; neighbours by add/remove.
    ``"without_replacement"``: a uniform subset with a share `rate` of the n records; neighbours by substitution.
    Raises `ParameterError` unless rate is 0 or in [1e-100, 1] and the loss is valid for that relation.
    Source: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.

    >>> from discreet.privacy import pure
    >>> round(pure(1).sampled(0.01).epsilon(), 6)  # ln(1 + 0.01 (e − 1))
    0.017037
    """
    node = Sampled(probability(rate, "rate"), scheme, loss)
    _ = node.relation  # refuses a loss that is valid for other neighbours
    return node


def shuffled(loss: Loss, n: int) -> Loss:
    """Shuffling: `n` people send a report each, and only the reports without their order are seen.

    The loss is that of one report for its author and must be pure ε of 0 or 1e-12 to 10,000; neighbours by substitution
    of one person's data.
    Raises `ParameterError` for other losses and unless 1 ≤ n ≤ 10¹⁰⁰.
    Source: Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.2, bounded from both sides.

    >>> from discreet.privacy import pure
    >>> pure(1).shuffled(10_000).epsilon(delta=1e-6) < 0.1
    True
    """
    return Shuffled(n, loss)


def group(loss: Loss, k: int) -> Loss:
    """Group privacy: the loss of `k` people who change together.

    Raises `ParameterError` unless 1 ≤ k ≤ 10¹⁵. Source: Vadhan 2017, "The complexity of differential privacy", Lemma
    2.2, with its sum kept: (kε, δ·(e^{kε}−1)/(e^ε−1)).

    >>> from discreet.privacy import pure, rho
    >>> pure(0.5).group(10).epsilon(), rho(0.5).group(3).rho()
    (5.0, 4.5)
    """
    node = Group(k, loss)
    return loss if node.k == 1 else node


def under(loss: Loss, relation: Relation) -> Loss:
    """The loss under another relation. To ``"substitute"``: two steps of add/remove, `group(2)`.

    The other direction does not hold in general and raises `ParameterError`: a loss stated for substitution may
    reveal how many records there are.

    >>> from discreet.privacy import pure
    >>> pure(1).sampled(0.5).under("substitute").relation
    'substitute'
    """
    wanted = checked_relation(relation)
    if loss.relation == wanted:
        return loss
    if wanted == "substitute":
        return Substituted(loss)
    if loss.relation is None:
        return loss
    raise ParameterError("a loss that holds under substitution says nothing about adding or removing a record")


def parallel(losses: Iterable[Loss], relation: Relation = "add_remove") -> Loss:
    """Parallel composition: one release on each of several disjoint parts of the data.

    Which part a record belongs to is a function of that record alone, chosen without looking at the data. Under
    add/remove the worst part counts once; under substitution a record may move, so the worst part counts twice.
    The losses must be valid for add/remove: a part gains or loses a record. Raises `ParameterError` for others, and
    without any. Source: McSherry 2009, Theorem 4.

    >>> from discreet.privacy import pure
    >>> pure(1).parallel(pure(2)).epsilon(), pure(1).parallel(pure(2), relation="substitute").epsilon()
    (2.0, 4.0)
    """
    return Parallel(tuple(losses), relation)
