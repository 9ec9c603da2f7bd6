"""What changes a whole loss: sampling, shuffling, groups, disjoint parts, and another neighbour relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.privacy._checks import probability, whole
from discreet.privacy._loss import Loss
from discreet.privacy._unit import Relation, checked_relation, joined
from discreet.rational import Number

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


@dataclass(frozen=True, slots=True)
class Sampled(Loss):
    """A release that sees a secret random sample: each record with probability `rate`, or a fixed share of them."""

    rate: Fraction
    scheme: Scheme
    term: Loss


@dataclass(frozen=True, slots=True)
class Shuffled(Loss):
    """`n` local reports, each with the loss `term` for its author, published in random order."""

    n: int
    term: Loss


@dataclass(frozen=True, slots=True)
class Group(Loss):
    """The loss of up to `k` people together."""

    k: int
    term: Loss


@dataclass(frozen=True, slots=True)
class Substituted(Loss):
    """A loss valid for add/remove, read under substitution: at most two steps."""

    term: Loss


@dataclass(frozen=True, slots=True)
class Parallel(Loss):
    """Releases on disjoint parts; which part a record is in depends on that record alone."""

    terms: tuple[Loss, ...]
    neighbours: Relation = field(default="add_remove")


def sampled(loss: Loss, rate: Number, scheme: Scheme = "poisson") -> Loss:
    """Sampling: the release sees a secret sample that is drawn afresh each time.

    ``"poisson"``: each record alone with probability `rate`; neighbours by add/remove.
    ``"without_replacement"``: a uniform subset with a share `rate` of the n records; neighbours by substitution.
    Raises `ParameterError` unless 0 ≤ rate ≤ 1 and the loss is valid for that relation.
    Source: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.

    >>> from discreet.privacy import pure
    >>> round(pure(1).sampled(0.01).epsilon(), 6)  # ln(1 + 0.01 (e − 1))
    0.017037
    """
    if scheme not in ("poisson", "without_replacement"):
        raise ParameterError(f"scheme must be 'poisson' or 'without_replacement', got {scheme!r}")
    node = Sampled(probability(rate, "rate"), scheme, loss)
    joined((node.relation, loss.relation))
    return node


def shuffled(loss: Loss, n: int) -> Loss:
    """Shuffling: `n` people send a report each, and only the reports without their order are seen.

    The loss is that of one report for its author and must be pure ε; neighbours by substitution of one person's data.
    Raises `ParameterError` for other losses and unless n ≥ 1.
    Source: Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.2, evaluated exactly.

    >>> from discreet.privacy import pure
    >>> pure(1).shuffled(10_000).epsilon(delta=1e-6) < 0.1
    True
    """
    from discreet.privacy._currency import as_pure

    if as_pure(loss) is None or loss.relation == "add_remove":
        raise ParameterError("only a local loss of pure epsilon, valid under substitution, is amplified by shuffling")
    return Shuffled(whole(n, "n"), loss)


def group(loss: Loss, k: int) -> Loss:
    """Group privacy: the loss of `k` people who change together.

    Raises `ParameterError` unless k ≥ 1. Source: Dwork and Roth 2014, Theorem 2.2, with δ·(e^{kε}−1)/(e^ε−1).

    >>> from discreet.privacy import pure, rho
    >>> pure(0.5).group(10).epsilon(), rho(0.5).group(3).rho()
    (5.0, 4.5)
    """
    size = whole(k, "k")
    return loss if size == 1 else Group(size, loss)


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
    The losses must be valid for add/remove: a part gains or loses a record. Source: McSherry 2009, Theorem 4.

    >>> from discreet.privacy import pure
    >>> pure(1).parallel(pure(2)).epsilon(), pure(1).parallel(pure(2), relation="substitute").epsilon()
    (2.0, 4.0)
    """
    terms, wanted = tuple(losses), checked_relation(relation)
    if not all(isinstance(term, Loss) for term in terms):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("parallel takes losses")
    joined(("add_remove", *(term.relation for term in terms)))
    return Parallel(terms, wanted)
