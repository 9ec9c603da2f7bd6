"""The interface of a statistic with sensitivities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.privacy import Relation

__all__ = ["Profile", "Statistic"]


@dataclass(frozen=True, slots=True)
class Profile:
    """Local sensitivity around one data set x, as a function of the distance k. SENSITIVE: it is computed from x.

    `at_distance(k)` is A(x, k): the largest local sensitivity of a data set within k steps of x; or an upper bound of
    it, if for all neighbours x, x' and all k

        at_distance(k) of x  <=  at_distance(k + 1) of x'        (nested)

    and it does not decrease in k. Both must hold of the floats returned: that is all that the smoothness of `smooth`
    and the stability of `distance` rest on. A itself is nested, because a ball of radius k around x lies in the ball
    of radius k + 1 around x'; floats stay nested when they are exact values rounded up.

    Attributes
    ----------
    at_distance
        k, a whole number of steps (0 or more), to A(x, k), in the unit of the statistic.
    last
        A(x, k) is the same for all k >= `last`.
    smooth
        Optional and only for speed: beta to the maximum over k of exp(-beta k) A(x, k), right to 12 digits. Without
        it the maximum is searched with few calls of `at_distance`.

    >>> Profile(lambda k: min(1.0, 0.1 * 2**k), last=4).at_distance(2)
    0.4
    """

    at_distance: Callable[[int], float]
    last: int
    smooth: Callable[[float], float] | None = None


class Statistic(Protocol):
    """A function of a data set with its sensitivities; implementations are frozen dataclasses.

    `bounds` are the public bounds of the data, in whatever form the statistic documents; a statistic that needs none
    ignores them. Nothing here may raise because of what the data are: only because of bounds, types and shapes.
    """

    def value(self, x: Any, bounds: Any) -> Any:
        """f(x). SENSITIVE: the exact answer."""
        ...

    def global_sensitivity(self, bounds: Any, relation: Relation, n: int | None = None) -> float:
        """The largest local sensitivity of any data set; under substitution of any of size `n`, or of any at all.

        Public: it does not depend on data. `n` must be public too, and is not used under add/remove.
        """
        ...

    def profile(self, x: Any, bounds: Any, relation: Relation) -> Profile:
        """Local sensitivity around x at every distance. SENSITIVE."""
        ...
