"""Privacy loss as data: what a release reveals, written down and not yet interpreted.

A node only describes. What it means in a definition of differential privacy is the business of the interpreters;
a new node or a new meaning touches one side only. The leaves are in `_nodes.py`, what changes a whole loss (sampling,
groups, shuffling) in `_combinators.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from discreet.errors import ParameterError
from discreet.privacy.losses._unit import Relation
from discreet.privacy.losses._validation import check_whole
from discreet.rational import Number

__all__ = ["Loss", "Sum", "Times", "check_losses"]


class Loss:
    """An immutable description of privacy loss. A budget is a loss that somebody accepts.

    Losses add (sequential, adaptive composition) and take integer multiples. Build them with `pure`, `approx`,
    `rho`, `mu`, `gaussian` and their kin; the node classes are for interpreters.

    >>> from discreet.privacy import gaussian, pure
    >>> step = pure(0.1)
    >>> (30 * step).fits(pure(3)), (31 * step).fits(pure(3))
    (True, False)
    >>> run = 100 * gaussian(30)
    >>> round(run.epsilon(delta=1e-6), 4)
    1.448
    """

    __slots__ = ()

    @property
    def relation(self) -> Relation | None:
        """The neighbour relation this loss is valid for; `None`: the one its numbers were worked out for."""
        from discreet.privacy.losses._size import relation_of

        return relation_of(self)

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
        return Times(count, self)

    __rmul__ = __mul__

    def sampled(self, rate: Number, scheme: Literal["poisson", "without_replacement"] = "poisson") -> Loss:
        """The loss when the release sees a secret random sample of the records only. See `_combinators.sampled`."""
        from discreet.privacy.losses._combinators import sampled

        return sampled(self, rate, scheme)

    def shuffled(self, n: int) -> Loss:
        """The loss of `n` people's local reports in random order. See `_combinators.shuffled`."""
        from discreet.privacy.losses._combinators import shuffled

        return shuffled(self, n)

    def group(self, k: int) -> Loss:
        """The loss of `k` people together. See `_combinators.group`."""
        from discreet.privacy.losses._combinators import group

        return group(self, k)

    def parallel(self, *others: Loss, relation: Relation = "add_remove") -> Loss:
        """The loss of releases on disjoint parts of the data. See `_combinators.parallel`."""
        from discreet.privacy.losses._combinators import parallel

        return parallel((self, *others), relation)

    def under(self, relation: Relation) -> Loss:
        """The same releases under another neighbour relation. See `_combinators.under`."""
        from discreet.privacy.losses._combinators import under

        return under(self, relation)

    def epsilon(self, delta: Number = 0) -> float:
        """The least ε that discreet can certify at this δ: an upper bound, rounded up; ``inf`` where none is known.

        >>> from discreet.privacy import rho
        >>> round(rho(0.1).epsilon(delta=1e-6), 4)
        2.1419
        """
        from discreet.privacy.accounting._certify import epsilon

        return epsilon(self, delta)

    def delta(self, epsilon: Number) -> float:
        """The least δ that discreet can certify at this ε: an upper bound, rounded up, at most 1.

        >>> from discreet.privacy import gaussian
        >>> f"{gaussian(3.7306).delta(1):.3e}"
        '1.000e-05'
        """
        from discreet.privacy.accounting._certify import delta

        return delta(self, epsilon)

    def bounds(
        self, *, delta: Number | None = None, epsilon: Number | None = None, gap: float = 1e-3
    ) -> tuple[float, float]:
        """Certified (lower, upper): of ε at the given `delta`, or of δ at the given `epsilon`.

        No ε (or δ) below the lower end holds for every release with this loss; the upper end does. `gap` is the
        relative width that is asked of numeric composition; an honest wider bracket comes back where it is missed.

        >>> from discreet.privacy import pure
        >>> low, high = (100 * pure(0.1)).bounds(delta=1e-6)
        >>> round(low, 4), round(high, 4)
        (4.7746, 4.7746)
        """
        from discreet.privacy.accounting._certify import bounds

        return bounds(self, delta=delta, epsilon=epsilon, gap=gap)

    def tradeoff(self, alpha: Number) -> float:
        """The least type II error of an adversary whose type I error is `alpha`, rounded down. See `_curves`."""
        from discreet.privacy.accounting._meanings import tradeoff

        return tradeoff(self, alpha)

    def renyi(self, order: Number) -> float:
        """The Rényi divergence of this order, in nats: an upper bound; ``inf`` where there is none."""
        from discreet.privacy.accounting._meanings import renyi

        return renyi(self, order)

    def rho(self) -> float:
        """The ρ of zero-concentrated differential privacy, rounded up; raises `ParameterError` where there is none."""
        from discreet.privacy.accounting._meanings import rho

        return rho(self)

    def mu(self) -> float:
        """The μ of Gaussian differential privacy, rounded up; raises `ParameterError` where there is none."""
        from discreet.privacy.accounting._meanings import mu

        return mu(self)

    def posterior(self, prior: Number, delta: Number = 0, *, independent: bool = False) -> tuple[float, float]:
        """Where the belief of an adversary who held `prior` may end. See `_belief.posterior`."""
        from discreet.privacy.accounting._meanings import posterior

        return posterior(self, prior, delta, independent=independent)

    def at_risk(self, n: int) -> float:
        """The expected number of people among `n` whom the δ of a stated (ε, δ) or (ρ, δ) leaves without protection."""
        from discreet.privacy.accounting._meanings import at_risk

        return at_risk(self, n)

    def fits(self, budget: Loss) -> bool:
        """Whether a release of this loss stays within the budget.

        The budget is stated in one currency: `pure`, `approx`, `rho` or `mu`, or sums and multiples of one of them; for
        others `ParameterError` is raised, as they are known from above only. Decided exactly in that currency where the
        loss has a value there. A composition that does not fit
        so, against a budget with a δ, fits if its certified ε at that δ does; that holds for schedules fixed in
        advance, and a ledger, whose spends are chosen one after another, never relies on it.
        """
        from discreet.privacy.accounting._certify import fits

        return fits(self, budget)

    def explain(self) -> str:
        """What this loss is and what it means, in a few sentences for people."""
        from discreet.privacy.accounting._explain import explain

        return explain(self)


def check_losses(terms: Iterable[object]) -> None:
    """Raises `ParameterError` unless all are losses."""
    for term in terms:
        if not isinstance(term, Loss):
            raise ParameterError(f"a loss is built from losses, such as dp.pure(1), got {type(term).__name__}")


@dataclass(frozen=True, slots=True)
class Sum(Loss):
    """Several releases about the same people, the later ones possibly chosen after seeing the earlier.

    Raises `ParameterError` if a term is not a loss, or if the terms protect neighbours of different kinds.
    """

    terms: tuple[Loss, ...]
    neighbours: Relation | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from discreet.privacy.losses._size import common_relation

        check_losses(self.terms)
        object.__setattr__(self, "neighbours", common_relation(self.terms))


def _added(first: Loss, second: Loss) -> Sum:
    """One flat sum: a long one neither nests nor looks at its old terms again."""
    total = object.__new__(Sum)
    left = first.terms if isinstance(first, Sum) else (first,)
    right = second.terms if isinstance(second, Sum) else (second,)
    object.__setattr__(total, "terms", left + right)
    neighbours = first.relation
    if second.relation != neighbours:
        from discreet.privacy.losses._size import common_relation

        neighbours = common_relation((first, second))
    object.__setattr__(total, "neighbours", neighbours)
    return total


@dataclass(frozen=True, slots=True)
class Times(Loss):
    """The same loss, `count` times: 0 to 10¹⁵, also as a product with counts and group sizes within it."""

    count: int
    term: Loss

    def __post_init__(self) -> None:
        from discreet.privacy.losses._size import check_size

        check_losses((self.term,))
        check_whole(self, "count", 0)
        check_size(self)
