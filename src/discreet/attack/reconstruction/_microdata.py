"""Microdata from published tables: every list of records that gives the tables, or a proof that there is one alone.

Sources: Garfinkel, Abowd and Martindale 2018; Abowd et al. 2023. Their critics ask what one could have guessed anyway
(Ruggles and Van Riper 2021): `Microdata.against` has that as its control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import Hierarchy, read_frame
from discreet.attack._bags import bag, shared
from discreet.attack._outcome import Control, Outcome
from discreet.attack.reconstruction._search import search, search_by_solver
from discreet.attack.reconstruction._statements import (
    Clause,
    Kinds,
    Part,
    Statement,
    fitting,
    parts_of,
    possible,
    read_kinds,
    statements_of,
)
from discreet.attack.reconstruction._summaries import Statistic, summaries_of
from discreet.errors import ParameterError

__all__ = ["Microdata", "microdata"]

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Filled:
    """A part with the ways to fill it: a row each, with a number for each kind."""

    part: Part
    ways: _Ints
    is_complete: bool


@dataclass(frozen=True, repr=False, eq=False)
class Microdata:
    """The lists of records that agree with published tables.

    Attributes
    ----------
    kinds
        Every kind of record that there could be.
    solutions
        How many lists agree, where the order of records does not matter. It is exact if `is_complete`, and no more
        than a lower bound if not; 0 if the tables contradict each other.
    is_complete
        Whether all were found. If not, confidences are shares of those that were, which nobody drew at random.
    """

    kinds: Kinds
    solutions: int
    is_complete: bool
    _filled: tuple[_Filled, ...]

    @property
    def is_unique(self) -> bool:
        """Whether it is proven that one list of records agrees, and no other."""
        return self.is_complete and self.solutions == 1

    def __repr__(self) -> str:
        least = "" if self.is_complete else "at least "
        return f"<Microdata: {least}{self.solutions:,} solution{'' if self.solutions == 1 else 's'}>"

    def explain(self) -> str:
        """What the tables leave open, in words."""
        if not self.is_complete:
            return f"at least {self.solutions:,} lists of records agree with the tables: not all were found"
        if not self.solutions:
            return "no list of records agrees with the tables: they contradict each other"
        if self.is_unique:
            return "one list of records agrees with the tables, and no other: it is the truth if the tables are exact"
        return f"{self.solutions:,} lists of records agree with the tables"

    def tables(self, most: int = 100) -> Iterator[pa.Table]:
        """Some of the solutions, as tables of records."""
        if not self.solutions:
            return
        for ways in islice(product(*(each.ways for each in self._filled)), most):
            counts = np.zeros(self.kinds.count, np.int64)
            for each, way in zip(self._filled, ways, strict=True):
                counts[list(each.part.kinds)] = way
            yield self._records(np.repeat(np.arange(len(counts)), counts))

    def records(self) -> pa.Table:
        """All records that some solution has, the surest first.

        The column ``copy`` tells records that are alike apart: the second is there in solutions that have two or more.
        ``confidence`` is the share of solutions that have the record.
        """
        kinds, copies, confidence = self._ranked()
        table = self._records(kinds)
        return table.append_column("copy", pa.array(copies)).append_column("confidence", pa.array(confidence))

    def against(self, truth: object, national: object) -> Outcome:
        """Compare the surest records with the truth.

        As many records are guessed as the truth has; they are right as far as it has them. The control knows the number
        of people alone, and guesses records as frequent as they are in the national table.

        Parameters
        ----------
        truth, national
            Tables of records with the columns that people have.

        Raises
        ------
        ParameterError
            For columns that are missing, and values that people cannot have.
        """
        own, at_large = self.kinds.counts(truth, "truth"), self.kinds.counts(national, "national table")
        kinds, copies, confidence = self._ranked(int(own.sum()))
        right = copies <= own[kinds]
        blind = bag(int(own.sum()), at_large, np.zeros(len(own), np.int64))
        is_sure = confidence == 1 if self.is_complete else np.zeros(len(confidence), bool)
        evidence = self._records(kinds).append_column("confidence", pa.array(confidence))
        return Outcome(
            "microdata from tables",
            int(right.sum()),
            int(own.sum()),
            Control(shared(blind, own) / int(own.sum()), int(own.sum())),
            evidence.append_column("claimed", pa.array(is_sure)).append_column("right", pa.array(right)),
            claims=int(is_sure.sum()),
            false_claims=int((is_sure & ~right).sum()),
        )

    def _records(self, kinds: _Ints) -> pa.Table:
        places = np.unravel_index(kinds, self.kinds.shape)
        columns = zip(self.kinds.columns.items(), places, strict=True)
        return pa.table({name: pa.array(values).take(pa.array(own, pa.int64())) for (name, values), own in columns})

    def _ranked(self, most: int | None = None) -> tuple[_Ints, _Ints, NDArray[np.float64]]:
        """Kind, copy and confidence of each record that some solution has, the surest first."""
        kinds: list[int] = []
        copies: list[int] = []
        confidence: list[float] = []
        for each in self._filled if self.solutions else ():
            for kind, numbers in zip(each.part.kinds, each.ways.T, strict=True):
                for copy in range(1, int(numbers.max()) + 1):
                    kinds.append(kind)
                    copies.append(copy)
                    confidence.append(float((numbers >= copy).mean()))
        order = np.lexsort((np.array(copies), np.array(kinds), -np.array(confidence)))[:most]
        return np.array(kinds, np.int64)[order], np.array(copies, np.int64)[order], np.array(confidence)[order]


@dataclass(frozen=True)
class _Published:
    """How published tables are to be read."""

    kinds: Kinds
    count: str
    statistics: Mapping[str, Statistic]
    margin: int
    suppressed: int | None
    hierarchies: Mapping[str, Hierarchy]

    def read(self, tables: Sequence[object]) -> tuple[list[Statement], list[Clause]]:
        """What tables say: counts first, as a median need only be that of kinds that could have people."""
        frames = [read_frame(each).table for each in tables]
        fits = [self._fits(each) for each in frames]
        counted = [self._counts(frame, fit) for frame, fit in zip(frames, fits, strict=True)]
        for name in self.statistics:
            if not any(name in each.column_names for each in frames):
                raise ParameterError(f"no table has a column {name}, which statistics= names")
        if not any(counted):
            raise ParameterError(f"no table has counts: one at least has a column {self.count}, or name it by count=")
        statements = [each for some in counted for each in some]
        clauses: list[Clause] = []
        can_be = possible(self.kinds, statements)
        for frame, fit, own in zip(frames, fits, counted, strict=True):
            # A table's statement about kinds that it leaves out comes last, and is none of a row.
            sizes = [each.low if each.low == each.high else None for each in own[:-1]] or [None] * frame.num_rows
            more = summaries_of(frame, [each & can_be for each in fit], self.kinds, self.statistics, sizes)
            statements, clauses = statements + more[0], clauses + more[1]
        return statements, clauses

    def _names(self, frame: pa.Table) -> list[str]:
        """By which columns a table is."""
        return [name for name in frame.column_names if name != self.count and name not in self.statistics]

    def _fits(self, frame: pa.Table) -> list[NDArray[np.bool_]]:
        if self.count not in frame.column_names and not any(name in frame.column_names for name in self.statistics):
            raise ParameterError(f"a table has no column {self.count} with its counts: name it by count=")
        return fitting(frame, self._names(frame), self.kinds, self.hierarchies)

    def _counts(self, frame: pa.Table, fits: Sequence[NDArray[np.bool_]]) -> list[Statement]:
        if self.count not in frame.column_names:
            return []
        return statements_of(frame, self.kinds, fits, self.count, (self.margin, self.suppressed))


def microdata(  # noqa: PLR0913
    tables: Sequence[object],
    columns: Mapping[str, Sequence[Any]],
    *,
    count: str = "n",
    statistics: Mapping[str, Statistic] | None = None,
    margin: int = 0,
    suppressed: int | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    solver: Literal["search", "cp-sat"] = "search",
    limit: int = 10_000,
    steps: int = 100_000,
    seconds: float = 60,
) -> Microdata:
    """Find every list of records that gives some published tables.

    What the tables say falls into parts that have no kind of record in common. Each is searched on its own, and the
    numbers of ways are multiplied: millions of solutions are counted exactly.

    Parameters
    ----------
    tables
        Tables of counts of the same people, or of medians and means, each by some of the columns. A cell may be an
        interval, a set, starred, or an ancestor. A table of counts covers everybody: nobody is of a kind that fits none
        of its rows. One table at least has counts.
    columns
        For each column all values that people can have.
    count
        The column of counts.
    statistics
        The columns of medians and means, whichever tables have them, and what each is of. A null there says nothing.
    margin
        By how much a published count may be off; 0 for tables that are exact.
    suppressed
        The largest count that a null stands for; None if no count is suppressed.
    hierarchies
        Whose ancestors cells may be.
    solver
        ``"search"``, or ``"cp-sat"`` of `ortools` (the extra of that name) for parts that are too large for it, as most
        with medians and means are.
    limit
        A part with more ways than that is left, and is not complete.
    steps, seconds
        So is one that takes longer: ``"search"`` counts steps, a tenth of a millisecond each or more, ``"cp-sat"``
        seconds.

    Raises
    ------
    ParameterError
        For columns and cells that are unknown, counts that are no numbers, and statistics that are none of integers or
        not rounded as it was said.
    MissingExtra
        For ``"cp-sat"`` without ortools.

    >>> by_sex = pa.table({"sex": ["F", "M"], "n": [2, 1]})
    >>> by_race = pa.table({"race": ["a", "b"], "n": [3, 0]})
    >>> block = microdata([by_sex, by_race], {"sex": ["F", "M"], "race": ["a", "b"]})
    >>> block, block.records()["race"].to_pylist()
    (<Microdata: 1 solution>, ['a', 'a', 'a'])
    >>> people = pa.table({"n": [3], "median age": [30], "mean age": [43.3]})
    >>> of_age = {"median age": Statistic("median", "age"), "mean age": Statistic("mean", "age", step="0.1")}
    >>> microdata([people], {"age": list(range(18, 91))}, statistics=of_age).records()["age"].to_pylist()[:1]
    [30]
    """
    if not tables:
        raise ParameterError("there are no tables: give those that were published")
    if margin < 0 or limit < 1 or steps < 1 or not seconds > 0:
        raise ParameterError("margin is 0 or more, and limit, steps and seconds are more than 0")
    if solver not in {"search", "cp-sat"}:
        raise ParameterError(f"solver is 'search' or 'cp-sat', not {solver!r}")
    if suppressed is not None and suppressed < 0:
        raise ParameterError("suppressed is the largest count that a null stands for: 0 or more")
    kinds = read_kinds(columns)
    published = _Published(kinds, count, statistics or {}, margin, suppressed, hierarchies or {})
    parts, holds = parts_of(kinds, *published.read(tables))
    if not holds:
        return Microdata(kinds, 0, is_complete=True, _filled=())
    filled: list[_Filled] = []
    for part in parts:
        ways, is_complete = search(part, limit, steps) if solver == "search" else search_by_solver(part, limit, seconds)
        if is_complete and not ways:
            return Microdata(kinds, 0, is_complete=True, _filled=())
        filled.append(_Filled(part, np.array(ways, np.int64).reshape(len(ways), len(part.kinds)), is_complete))
    return Microdata(kinds, prod(len(f.ways) for f in filled), all(f.is_complete for f in filled), tuple(filled))
