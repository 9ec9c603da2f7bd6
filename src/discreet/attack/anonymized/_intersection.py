"""Intersection: two tables of the same people leave fewer values than each. Source: Ganta et al. 2008."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._classes import checked_truth, codes_of, read_classes
from discreet.attack._outcome import Control, Outcome
from discreet.noise import permutation

__all__ = ["intersection"]

_DEALS = 10
"""How often the second table's rows are dealt out by chance."""


def intersection(  # noqa: PLR0913
    first: object,
    second: object,
    quasi: Sequence[str],
    sensitive: str,
    *,
    second_quasi: Sequence[str] | None = None,
    truth: Sequence[int] | NDArray[np.int64] | None = None,
) -> Outcome:
    """Keep of each person the sensitive values that both of their classes have; claim where one is left.

    Where the classes have no value in common the first alone counts: the second is not about that person. The control
    is the better of the two tables alone: how many have a class of one value in it, which is theirs. To that comes what
    luck claims rightly with rows that are somebody else's; how many of the second table's are is told by how often its
    classes contradict the first's, beside how often they would if its rows were dealt out by chance. Tables of the same
    people never contradict each other, and leave nothing to luck.

    Parameters
    ----------
    first, second
        Tables as they were published.
    quasi, sensitive, second_quasi
        The columns by which people are found, and the one that is guessed; `second_quasi` if others are in the second.
    truth
        For each row of the first table its row in the second, −1 if it has none; the same rows, if it is left out.

    Raises
    ------
    ParameterError
        For columns that are missing, and a truth that does not fit.
    """
    ours, theirs = read_classes(first, quasi, [sensitive]), read_classes(second, second_quasi or quasi, [sensitive])
    called = "first table", "second table"
    other = checked_truth(truth, ours.table.num_rows, theirs.table.num_rows, called)
    seen = other >= 0
    codes, values = codes_of(ours.table, sensitive)
    their_codes, their_values = codes_of(theirs.table, sensitive)
    place = {each: i for i, each in enumerate(values)}
    # Values that the first table has not go into a column of their own, which is left out.
    translated = np.array([place.get(each, len(values)) for each in their_values])[their_codes]
    here = ours.counts(codes, len(values)) > 0
    there = theirs.counts(translated, len(values) + 1)[:, :-1] > 0
    left = here[ours.class_of]
    classes = theirs.class_of[other[seen]]
    both, contradicted = _keep(left, seen, there[classes])
    claimed = both.sum(axis=1) == 1
    own = np.zeros_like(left)
    own[np.arange(len(codes)), codes] = True
    right = claimed & (both & own).any(axis=1)
    alone = float((left.sum(axis=1) == 1).mean())
    in_second = float(((there[classes].sum(axis=1) == 1) & (there[classes] & own[seen]).any(axis=1)).sum()) / len(codes)
    usual, lucky = 0.0, 0.0
    for _ in range(_DEALS):
        dealt = classes[permutation(len(classes))]
        by_chance, apart = _keep(left, seen, there[dealt])
        usual += apart / _DEALS
        lucky += float(((by_chance.sum(axis=1) == 1) & (by_chance & own).any(axis=1)).mean()) / _DEALS
    # Contradictions are few and come in whole classes: three standard errors more than there are.
    others = min((contradicted + 3 * contradicted**0.5) / usual, 1.0) if usual else 1.0
    evidence = pa.table(
        [pa.array(left.sum(axis=1)), pa.array(both.sum(axis=1)), pa.array(claimed), pa.array(right)],
        ["values in one", "values in both", "claimed", "right"],
    )
    return Outcome(
        "intersection",
        int(right.sum()),
        len(codes),
        Control(max(alone + others * (lucky - alone), in_second), len(codes)),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )


def _keep(left: NDArray[np.bool_], seen: NDArray[np.bool_], there: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int]:
    """For each person the values that both classes have, or the first alone; and how many have none in common."""
    both = left.copy()
    both[seen] &= there
    has_none = ~both.any(axis=1)
    both[has_none] = left[has_none]
    return both, int(has_none.sum())
