"""The register join: names come back to a release by the columns that it shares with a register of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import Hierarchy, read_frame
from discreet.attack._classes import Classes, checked_truth, classes_of, codes_of, joined_codes
from discreet.attack._outcome import Control, Outcome
from discreet.attack.linkage._cells import compatible, is_generalised
from discreet.errors import ParameterError

__all__ = ["linkage"]

_BLOCK = 1 << 24
_Ints = NDArray[np.int64]


def linkage(
    release: object,
    register: object,
    on: Sequence[str],
    *,
    truth: Sequence[int] | NDArray[np.int64] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Outcome:
    """Join a release with a register, and claim whoever fits one row that fits nobody else.

    It is how William Weld, governor of Massachusetts, was found in hospital records by ZIP code, birth date and sex.

    Parameters
    ----------
    release
        A table without names, as it was published; cells may be intervals, sets or starred.
    register
        A table of people with the same columns, one row each.
    on
        Those columns.
    truth
        For each row of the register its row in the release, −1 if it has none. If it is left out, both tables have the
        same people in the same order.
    hierarchies
        Whose ancestors cells may be.

    Raises
    ------
    ParameterError
        For columns that are missing, and a truth that does not fit the tables.

    Source: Sweeney 2002.

    >>> people = pa.table({"name": ["A", "B", "C"], "zip": ["02138", "02139", "02139"], "born": [1945, 1950, 1950]})
    >>> linkage(people.drop_columns("name"), people, on=["zip", "born"])
    <Outcome of linkage: 1 of 3 right, baseline 0.333>
    """
    published, known = read_frame(release).table, read_frame(register).table
    for name in on:
        for table, called in ((published, "release"), (known, "register")):
            if name not in table.column_names:
                raise ParameterError(f"the {called} has no column {name}, on which both are to be joined")
    if not on:
        raise ParameterError("name the columns that both tables have: on=['zip', 'born', 'sex']")
    row_of = checked_truth(truth, known.num_rows, published.num_rows, ("register", "release"))
    rows, people = classes_of(published, on), classes_of(known, on)
    fits, only, fitting = _join(published, known, on, hierarchies or {}, rows, people)
    claimed = (fits[people.class_of] == 1) & (fitting[only[people.class_of]] == 1)
    guess = np.where(claimed, rows.first[only[people.class_of]], -1)
    right = claimed & (guess == row_of)
    evidence = pa.table(
        [pa.array(fits[people.class_of]), pa.array(guess), pa.array(claimed), pa.array(right)],
        ["rows that fit", "row", "claimed", "right"],
    )
    return Outcome(
        "linkage",
        int(right.sum()),
        known.num_rows,
        Control(float((row_of >= 0).mean()) / published.num_rows),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )


def _join(  # noqa: PLR0913, PLR0917
    published: pa.Table,
    known: pa.Table,
    on: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    rows: Classes,
    people: Classes,
) -> tuple[_Ints, _Ints, _Ints]:
    """Of each different person how many rows fit, and one of them; of each different row how many people fit."""
    tables: list[tuple[NDArray[np.bool_], _Ints, _Ints]] = []
    is_exact = True
    for name in on:
        cell_codes, cells = codes_of(published, name)
        value_codes, values = codes_of(known, name)
        fits = compatible(cells, values, hierarchies.get(name))
        is_exact = is_exact and not any(map(is_generalised, cells)) and int(fits.sum(axis=0).max()) <= 1
        tables.append((fits, cell_codes[rows.first], value_codes[people.first]))
    if is_exact:
        return _exact_join(tables, rows, people)
    fitting_rows = np.zeros(len(people.first), np.int64)
    one = np.zeros(len(people.first), np.int64)
    fitting_people = np.zeros(len(rows.first), np.int64)
    step = max(_BLOCK // len(people.first), 1)
    for first in range(0, len(rows.first), step):
        part = slice(first, first + step)
        fits = np.ones((len(rows.first[part]), len(people.first)), bool)
        for table, cells, values in tables:
            fits &= table[cells[part]][:, values]
        fitting_rows += rows.sizes[part] @ fits
        fitting_people[part] = fits @ people.sizes
        one = np.where(fits.any(axis=0), first + fits.argmax(axis=0), one)
    return fitting_rows, one, fitting_people


def _exact_join(
    tables: Sequence[tuple[NDArray[np.bool_], _Ints, _Ints]], rows: Classes, people: Classes
) -> tuple[_Ints, _Ints, _Ints]:
    """The same where each value fits one cell at most: both are looked up by the cells."""
    keys = np.zeros(len(rows.first) + len(people.first), np.int64)
    there = np.ones(len(people.first), bool)
    for table, cells, values in tables:
        cell_of_value = np.where(table.any(axis=0), table.argmax(axis=0), -1)[values]
        there &= cell_of_value >= 0
        keys = joined_codes(keys, np.r_[cells, np.maximum(cell_of_value, 0)])
    row_keys, person_keys = keys[: len(rows.first)], keys[len(rows.first) :]
    row_of_key = np.full(int(keys.max()) + 1, -1)
    row_of_key[row_keys] = np.arange(len(rows.first))
    row = np.where(there, row_of_key[person_keys], -1)
    fitting_people = np.bincount(row[row >= 0], weights=people.sizes[row >= 0], minlength=len(rows.first))
    return np.where(row >= 0, rows.sizes[row], 0), np.maximum(row, 0), fitting_people.astype(np.int64)
