"""An anonymised table, with its certificate and the reasons for its cells."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymize._cells import cell_texts
from discreet.anonymize._losses import Losses, losses_of
from discreet.anonymize.algorithms import Problem
from discreet.anonymize.hierarchies import text_of
from discreet.anonymize.tables import Codes, Column, Frame
from discreet.anonymize.verification import Verdict, verify
from discreet.errors import ParameterError

__all__ = ["LIMITS", "Anonymized", "anonymized", "table_digest"]

LIMITS = (
    "Whoever knows more columns of a person than the quasi-identifiers may single that person out.",
    "A class whose sensitive values are all or nearly the same tells them of everybody in it.",
    "Two such tables of the same people can be joined, and tell more than each.",
    "The choice of classes depends on the rows, and may be reversed (minimality, downcoding).",
    "Nothing here is differential privacy: no ledger counts this table, and no loss is known.",
)
"""What no condition on classes promises."""


@dataclass(frozen=True, repr=False, eq=False)
class Anonymized:
    """A table of classes of rows that look alike.

    Attributes
    ----------
    table
        In the kind of frame that was given: the quasi-identifiers as texts, then sensitive and other columns.
    verdict
        What the table satisfies, as the verifier read it off the cells.
    losses
        What it cost.
    certificate
        The model, its parameters, what was found, and what is not promised, in plain JSON.
    """

    table: Any
    verdict: Verdict
    losses: Losses
    certificate: Mapping[str, Any]
    _problem: Problem
    _classes: Codes

    def __repr__(self) -> str:
        return (
            f"<Anonymized: {self.verdict.rows:,} rows in {self.verdict.classes:,} classes of {self.verdict.k:,} or "
            f"more, NCP {self.losses.certainty:.3f}>"
        )

    @property
    def rows(self) -> Codes:
        """Which rows of the given table are in this one, in order."""
        return np.flatnonzero(self._classes >= 0)

    def is_made_of(self, columns: Sequence[Column]) -> bool:
        """Whether these are the quasi-identifiers of the table that was given."""
        rows = len(columns[0].codes)
        return len(self._classes) == rows and all(
            [a.values[each] for each in a.codes] == [b.values[each] for each in b.codes[:rows]]
            for a, b in zip(columns, self._problem.quasi, strict=True)
        )

    def explain(self, *, row: int | None = None, column: str | None = None) -> str:
        """Why a row was suppressed or its cells were coarsened, or a column, in words.

        Parameters
        ----------
        row
            The place of a row in the table that was given, from 0.
        column
            A quasi-identifier.

        Raises
        ------
        ParameterError
            For a row or column that is not there, or none or both of them.
        """
        if (row is None) == (column is None):
            raise ParameterError("say which row or which column is to be explained: explain(row=17)")
        return self._explain_column(column) if column is not None else self._explain_row(row)

    def _explain_row(self, row: int | None) -> str:
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < len(self._classes):
            raise ParameterError(f"row is a place from 0 to {len(self._classes) - 1:,}, not {row!r}")
        own = self._classes[row]
        if own < 0:
            equal = int((self._problem.distinct.of_row == self._problem.distinct.of_row[row]).sum())
            return "\n".join([
                f"row {row:,} is suppressed: no class within the limits could hold it",
                f"it shares its quasi-identifiers with {equal - 1:,} other rows, and k is {self._problem.k:,}",
            ])  # fmt: skip
        size = int((self._classes == own).sum())
        reasons = _why_class_is_undivided(self._problem, self._classes, int(row))
        return "\n".join([
            f"row {row:,} is in a class of {size:,} rows that look alike",
            *(reasons or ["all its cells are as they were"]),
        ])  # fmt: skip

    def _explain_column(self, column: str) -> str:
        if column not in self.losses.by_column:
            raise ParameterError(f"{column} is no quasi-identifier; those are {', '.join(self.losses.by_column)}")
        place = list(self.losses.by_column).index(column)
        there = self._classes >= 0
        codes, classes = self._problem.quasi[place].codes[there], self._classes[there]
        size = self._problem.quasi[place].size
        pairs = np.unique(classes * size + codes)
        values = np.bincount(pairs // size)[classes]
        return "\n".join([
            f"{column} costs {self.losses.by_column[column]:.3f} of 1 (certainty penalty)",
            f"{(values == 1).mean():.0%} of its cells are one value; others stand for {_mean(values):.1f} on average",
        ])  # fmt: skip


def _mean(values: Codes) -> float:
    several = values[values > 1]
    return float(several.mean()) if len(several) else 1.0


def anonymized(
    frame: Frame, problem: Problem, classes: Codes, stated: Mapping[str, Any], passed: Sequence[str]
) -> Anonymized:
    """The table with the cells of its classes.

    Rows of a population may come after the table's in problem and classes: they widen cells, and are not published.
    """
    there = np.flatnonzero(classes >= 0)
    ours = there[there < frame.table.num_rows]
    cells = {
        column.name: cell_texts(column, tree, classes[there], there).take(classes[ours])
        for column, tree in zip(problem.quasi, problem.hierarchies, strict=True)
    }
    rest = frame.table.select(list(passed)).take(ours)
    published = pa.table([*cells.values(), *rest.columns], [*cells, *rest.column_names])
    if not published.num_rows:
        raise ParameterError("no row could be published: ask for less, or use method='best'")
    verdict = verify(published, list(cells), stated["sensitive"])
    losses = losses_of(problem, classes)
    certificate = {
        "kind": "anonymised table",
        **stated,
        "left out": [name for name in frame.table.column_names if name not in published.column_names],
        "found": verdict.to_json(),
        "certainty_penalty": losses.certainty,
        "suppressed": losses.suppressed,
        "digest": table_digest(published),
        "not promised": list(LIMITS),
    }
    return Anonymized(frame.restore(published), verdict, losses, certificate, problem, classes[: frame.table.num_rows])


def table_digest(table: pa.Table) -> str:
    """SHA-256 of a table's columns, which another order of rows changes.

    Of each column its name and type, the lengths of its values as texts in bytes (−1 for a null), and then the texts.
    """
    digest = hashlib.sha256(str(table.num_rows).encode())
    for name in table.column_names:
        column = table.column(name)
        texts: Any = column.cast(pa.large_string())
        lengths: Any = pc.fill_null(pc.binary_length(texts), pa.scalar(-1))
        digest.update(f"{name}\0{column.type}\0".encode())
        digest.update(lengths.to_numpy().astype("<i8"))
        for chunk in pc.fill_null(texts, pa.scalar("")).chunks:
            digest.update(_joined(chunk))
    return digest.hexdigest()


def _joined(texts: Any) -> memoryview:
    """All texts after one another in UTF-8, as Arrow holds them."""
    _, offsets, data = texts.buffers()
    if data is None or offsets is None:
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(data)[ends[0] : ends[-1]]


def _why_class_is_undivided(problem: Problem, classes: Codes, row: int) -> list[str]:
    """For each column whose cell stands for several values, why no cut of it is left."""
    rows = np.flatnonzero(classes == classes[row])
    return [
        f"{column.name} stands for {len(np.unique(column.codes[rows])):,} values: {_why(problem, column, rows)}"
        for column in problem.quasi
        if len(np.unique(column.codes[rows])) > 1
    ]


def _why(problem: Problem, column: Column, rows: Codes) -> str:
    values, counts = np.unique(column.codes[rows], return_counts=True)
    order = np.arange(len(values)) if column.is_number else np.argsort(-counts, kind="stable")
    failed: str | None = None
    nearest, side = 0, ""
    for size in range(1, len(values)):
        left = np.isin(column.codes[rows], values[order[:size]])
        smaller = min(int(left.sum()), int((~left).sum()))
        if smaller > nearest:
            nearest, side = smaller, text_of(column.values[values[order[size - 1]]])
        if smaller < problem.k:
            continue
        halves = left.astype(np.int64)
        for spread in problem.spreads:
            part = spread.taken(rows)
            if not part.holds_of(halves, 2).all():
                failed = spread.column.name
    if failed is not None:
        return f"a cut would leave too little variety of {failed} on one side"
    if nearest >= problem.k:
        return "it could be cut; other cuts saved more, or the method does not try this one"
    return f"the most even cut, after {side}, leaves {nearest:,} rows on one side, and k is {problem.k:,}"
