"""Singling out: predicates that one synthetic row satisfies, and exactly one of the people.

Source: Cohen and Nissim 2020; Giomi, Boenisch, Wehmeyer and Tasnádi 2023 (anonymeter).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.attack._outcome import Control, Outcome
from discreet.attack.synthetic._rows import Rows, Tables, random_places, read_tables
from discreet.errors import ParameterError
from discreet.noise import fresh_draws

__all__ = ["singling_out"]

_Condition = tuple[int, str, float]
_Predicate = tuple[_Condition, ...]
_COMPARE = {"=": np.equal, "<=": np.less_equal, ">=": np.greater_equal}
_TRIES = 20


def singling_out(
    synthetic: object, original: object, control: object, *, columns: int = 1, guesses: int = 500
) -> Outcome:
    """Guess predicates that exactly one of the people satisfies.

    The control has the same predicates and as many people who are not behind the synthetic table: what is so rare that
    it singles somebody out in any table of that size is no doing of this one.

    Parameters
    ----------
    synthetic, original, control
        What was published, the rows behind it, and other rows of the same population. Of the last two as many rows are
        taken as the shorter has.
    columns
        1: values that one synthetic row has alone, and the least and greatest of a number. More: conjunctions over so
        many random columns of a random row, numbers on its side of the median.
    guesses
        How many predicates at most.

    Raises
    ------
    ParameterError
        For tables that do not fit, and where no predicate is found.
    """
    tables = read_tables(synthetic, original, control)
    if not 1 <= columns <= len(tables.names):
        raise ParameterError(f"columns is a number from 1 to {len(tables.names)}, not {columns!r}")
    if guesses < 1:
        raise ParameterError(f"guesses is a number of predicates, 1 or more, not {guesses!r}")
    predicates = _of_one_column(tables, guesses) if columns == 1 else _of_several(tables, columns, guesses)
    if not predicates:
        raise ParameterError("no predicate is true of one synthetic row alone: take more columns")
    size = min(len(tables.original), len(tables.control))
    # At random: the first rows of a table that is in some order are not like the others.
    ours, theirs = (
        np.ascontiguousarray(each[random_places(len(each), size)].T) for each in (tables.original, tables.control)
    )
    right = np.array([_matching(ours, each) == 1 for each in predicates])
    usual = np.array([_matching(theirs, each) == 1 for each in predicates])
    words = [
        " and ".join(f"{tables.names[i]} {how} {tables.value(i, number)}" for i, how, number in each)
        for each in predicates
    ]
    evidence = pa.table([pa.array(words), pa.array(right), pa.array(usual)], ["predicate", "right", "control"])
    return Outcome(
        "singling out", int(right.sum()), len(right), Control(float(usual.mean()), len(usual)), evidence
    )  # fmt: skip


def _of_one_column(tables: Tables, most: int) -> list[_Predicate]:
    predicates: list[_Predicate] = []
    for column, span in enumerate(tables.spans):
        values, counts = np.unique(tables.synthetic[:, column], return_counts=True)
        predicates += [((column, "=", float(value)),) for value in values[counts == 1]]
        if span:
            predicates += [((column, "<=", float(values[0])),), ((column, ">=", float(values[-1])),)]
    return [predicates[i] for i in random_places(len(predicates), most)]


def _of_several(tables: Tables, columns: int, most: int) -> list[_Predicate]:
    rows = tables.synthetic
    middle, by_column = np.median(rows, axis=0), np.ascontiguousarray(rows.T)
    picked = fresh_draws().below(len(rows), _TRIES * most)
    predicates: dict[_Predicate, None] = {}
    for each in picked:
        row = rows[each]
        chosen = sorted(random_places(len(tables.names), columns))
        signs = ["=" if not tables.spans[i] else ">=" if row[i] > middle[i] else "<=" for i in chosen]
        predicate = tuple((int(i), sign, float(row[i])) for i, sign in zip(chosen, signs, strict=True))
        if predicate not in predicates and _matching(by_column, predicate) == 1:
            predicates[predicate] = None
            if len(predicates) == most:
                break
    return list(predicates)


def _matching(by_column: Rows, predicate: _Predicate) -> int:
    satisfied = np.ones(by_column.shape[1], bool)
    for column, how, number in predicate:
        satisfied &= _COMPARE[how](by_column[column], number)
    return int(satisfied.sum())
