"""What is learnt of a sensitive column by who knows a person's class: homogeneity, background knowledge, skewness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.risks._facts import Fact, codes_of, excluded
from discreet.anonymize.tables import Codes, Column, Frame

__all__ = ["Disclosure", "disclosure"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Disclosure:
    """One sensitive column, for somebody who knows each person's quasi-identifiers and the facts.

    Attributes
    ----------
    column
        Its name.
    narrowed
        For a number of values, how many people are narrowed to it: with 1 the value is learnt, with 2 one more fact is
        enough, and so on.
    guessed
        The share of people of whom the most frequent value of what is left in their class is true.
    baseline
        The same without the table's quasi-identifiers: the most frequent value in the table, of those not excluded.
    skewness
        The greatest ratio of a value's share in a class to its share in the table, facts included in both.
    skewed
        The value and the row where that is.
    contradicted
        How many people have a value that a fact on them excludes, so that it was not applied to them.
    values
        For each row how many values are left.
    posterior, prior
        For each row the share of its own value in its class, and in the table, of what is left.
    """

    column: str
    narrowed: dict[int, int]
    guessed: float
    baseline: float
    skewness: float
    skewed: tuple[Any, int]
    contradicted: int
    values: Codes
    posterior: _Floats
    prior: _Floats

    @property
    def learnt(self) -> int:
        """How many people's value is learnt with certainty."""
        return self.narrowed.get(1, 0)

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON, without the rows."""
        return {
            "narrowed": {str(values): people for values, people in self.narrowed.items()},
            "learnt": self.learnt,
            "guessed": self.guessed,
            "baseline": self.baseline,
            "skewness": self.skewness,
            "contradicted": self.contradicted,
        }


def disclosure(frame: Frame, column: Column, of_row: Codes, facts: Sequence[Fact]) -> Disclosure:
    """Find what is left for each person, given the facts: people of one class and the same facts are one group."""
    applies = excluded(frame, column, facts)
    out = [codes_of(column, fact) for fact in facts]
    key = of_row
    for place in range(len(facts)):
        key = np.unique(key * 2 + applies[:, place], return_inverse=True)[1].astype(np.int64)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    table = np.bincount(column.codes, minlength=column.size)
    value, count, starts = _class_values(of_row, column)
    narrowed = np.empty(len(first), np.int64)
    guess, prior_guess = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    totals, table_totals = np.empty(len(first)), np.empty(len(first))
    greatest, where = 0.0, (None, 0)
    for each, row in enumerate(first):
        span = slice(starts[of_row[row]], starts[of_row[row] + 1])
        listed, counts = value[span], count[span]
        overall = table
        gone = [out[place] for place in np.flatnonzero(applies[row])]
        if gone:
            left = ~np.isin(listed, np.concatenate(gone))
            listed, counts = listed[left], counts[left]
            overall = table.copy()
            overall[np.concatenate(gone)] = 0
        narrowed[each], totals[each], table_totals[each] = len(listed), counts.sum(), overall.sum()
        guess[each], prior_guess[each] = listed[counts.argmax()], overall.argmax()
        ratios = (counts / totals[each]) / (overall[listed] / table_totals[each])
        if ratios.max() > greatest:
            greatest, where = float(ratios.max()), (column.values[listed[ratios.argmax()]], int(row))
    pairs = of_row * column.size + column.codes
    in_class = np.unique(pairs, return_inverse=True, return_counts=True)
    people = np.unique(narrowed[group], return_counts=True)
    contradicted = _contradicted(frame, column, facts, applies) if facts else 0
    return Disclosure(
        column=column.name,
        narrowed=dict(zip(people[0].tolist(), people[1].tolist(), strict=True)),
        guessed=float((guess[group] == column.codes).mean()),
        baseline=float((prior_guess[group] == column.codes).mean()),
        skewness=greatest,
        skewed=where,
        contradicted=contradicted,
        values=narrowed[group],
        posterior=in_class[2][in_class[1]] / totals[group],
        prior=table[column.codes] / table_totals[group],
    )


def _class_values(of_row: Codes, column: Column) -> tuple[Codes, Codes, Codes]:
    """Value and number of each pair that occurs, in order of class, and where each class begins."""
    pairs, count = np.unique(of_row * column.size + column.codes, return_counts=True)
    owner = pairs // column.size
    return pairs % column.size, count, np.searchsorted(owner, np.arange(int(of_row.max()) + 2))


def _contradicted(frame: Frame, column: Column, facts: Sequence[Fact], applies: NDArray[np.int64]) -> int:
    """How many people are among those of a fact and have a value that it excludes."""
    against = np.zeros(len(column.codes), np.bool_)
    for place, fact in enumerate(facts):
        anybody = excluded(frame, column, [Fact(fact.column, [], fact.where)])[:, 0]
        against |= (anybody == 1) & (applies[:, place] == 0)
    return int(against.sum())
