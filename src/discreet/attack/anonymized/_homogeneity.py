"""Homogeneity: whoever is known to be in a class is likely to have what most of it have.

Source: Machanavajjhala et al. 2007.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.attack._classes import codes_of, read_classes
from discreet.attack._outcome import Control, Outcome

__all__ = ["homogeneity"]


def homogeneity(release: object, quasi: Sequence[str], sensitive: str) -> Outcome:
    """Guess of everybody the most frequent value of their class; claim where it is the only one.

    The control guesses by the others of the class, without the target's own row: what a release tells that the target
    is not in. So the advantage is what taking part gave away, and not what is true of such people at large.
    The evidence also has who is guessed rightly by what is most frequent in the table, without any class.

    Parameters
    ----------
    release
        A table as it was published.
    quasi, sensitive
        The columns by which people are found, and the one that is guessed.

    Raises
    ------
    ParameterError
        For columns that it has not.

    >>> table = pa.table({"age": ["[30, 39]"] * 3 + ["[40, 49]"] * 3, "illness": ["flu"] * 3 + ["flu", "gout", "gout"]})
    >>> homogeneity(table, ["age"], "illness").claims
    3
    """
    rows = read_classes(release, quasi, [sensitive])
    codes, values = codes_of(rows.table, sensitive)
    counts = rows.counts(codes, len(values))
    overall = counts.sum(axis=0)
    # Ties go to what is more frequent in the table.
    ranked = counts * (int(overall.max()) + 1) + overall
    guess = ranked.argmax(axis=1)[rows.class_of]
    claimed = (np.count_nonzero(counts, axis=1) == 1)[rows.class_of]
    without = ranked[rows.class_of]
    without[np.arange(len(codes)), codes] -= int(overall.max()) + 2
    control = without.argmax(axis=1) == codes
    right = guess == codes
    evidence = pa.table(
        [
            pa.array([values[each] for each in guess]),
            pa.array(claimed),
            pa.array(right),
            pa.array(control),
            pa.array(codes == overall.argmax()),
        ],
        ["guess", "claimed", "right", "right without own row", "right without the table"],
    )
    return Outcome(
        "homogeneity",
        int(right.sum()),
        len(codes),
        Control(float(control.mean()), len(codes)),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )
