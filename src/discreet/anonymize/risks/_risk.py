"""The risks of a table, from its cells alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.anonymize.risks._columns import column_risks, unique_sets
from discreet.anonymize.risks._disclosure import disclosure
from discreet.anonymize.risks._facts import Fact
from discreet.anonymize.risks._population import Population, counted, estimated
from discreet.anonymize.risks._report import Reidentification, Risk
from discreet.anonymize.tables import Codes, Frame, distinct_rows, read_columns, read_frame
from discreet.errors import ParameterError

__all__ = ["risk"]


def risk(
    table: object,
    quasi: Sequence[str],
    population: object = None,
    sensitive: Sequence[str] = (),
    facts: Sequence[Fact] = (),
) -> Risk:
    """Say who may be recognised in a table, and what is learnt of them then.

    Parameters
    ----------
    table
        An Arrow, pandas or polars table with a row for each person, as it was collected or anonymised.
    quasi
        The columns by which a person may be recognised.
    population
        A table with the same columns of all people among whom somebody might look, those of the table included; or how
        many they are, if the table's were drawn from them at random: then it is estimated, and says so.
    sensitive
        Columns that nobody is to learn of a person.
    facts
        What somebody knows already: values that some people do not have.

    Raises
    ------
    ParameterError
        For columns that are missing or cannot be read, a population that does not hold the table's people, and facts
        on columns or values that are not there.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 30, 41], "town": ["A", "A", "B"], "illness": ["flu", "gout", "gout"]})
    >>> result = risk(table, ["age", "town"], sensitive=["illness"], facts=[Fact("illness", ["flu"], {"age": 30})])
    >>> result
    <Risk: 1 of 3 people are unique by 2 columns>
    >>> result.disclosures["illness"].narrowed
    {1: 2, 2: 1}
    """
    frame = read_frame(table)
    if isinstance(quasi, str) or not quasi:
        raise ParameterError("name the quasi-identifiers in a list: quasi=['age', 'sex']")
    if isinstance(sensitive, str):
        raise ParameterError(f"name the sensitive columns in a list: sensitive=[{sensitive!r}]")
    if not all(isinstance(each, Fact) for each in facts):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("facts are a list of Fact(column, excluded, where)")
    both = [name for name in sensitive if name in quasi]
    if both:
        raise ParameterError(f"the column {both[0]} is named as a quasi-identifier and as sensitive: choose one")
    columns = read_columns(frame, quasi, "quasi")
    values = read_columns(frame, sensitive, "sensitive")
    odd = next((fact.column for fact in facts if fact.column not in sensitive), None)
    if odd is not None:
        raise ParameterError(f"a fact is on the column {odd}, which is not named in sensitive: name it there")
    of_row = distinct_rows(columns).of_row
    sizes = np.bincount(of_row)
    people = _population(frame, quasi, population, sizes, of_row)
    unique = int((sizes == 1).sum())
    smallest, examined = unique_sets(columns) if unique else ((), len(quasi))
    return Risk(
        quasi=tuple(quasi),
        rows=len(of_row),
        classes=len(sizes),
        unique=unique,
        reidentification=Reidentification(
            prosecutor=1 / int(sizes.min()),
            journalist=None if people is None else float(people.matches.max()),
            marketer=len(sizes) / len(of_row) if people is None else float(people.matches.mean()),
        ),
        population=people,
        columns=column_risks(columns),
        sets=smallest,
        sets_up_to=examined,
        disclosures={
            each.name: disclosure(frame, each, of_row, [fact for fact in facts if fact.column == each.name])
            for each in values
        },
        class_sizes=sizes[of_row],
    )


def _population(frame: Frame, quasi: Sequence[str], given: object, sizes: Codes, of_row: Codes) -> Population | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        return counted(frame, read_frame(given), quasi)
    if given < len(of_row):
        raise ParameterError(
            f"the population is of {given:,} people and the table of {len(of_row):,}: it holds the table's people too"
        )
    return estimated(sizes, of_row, int(given))
