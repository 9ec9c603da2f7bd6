"""One table at one level, as a table of text."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from discreet.privacy import Loss, in_words
from discreet.release import ShownTable

__all__ = ["PublishedTable"]

_NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublishedTable(ShownTable):
    """One table at one level; `rows` has it as Arrow."""

    name: str
    level: str
    rows: pa.Table
    confidence: float
    loss: Loss

    def header(self) -> list[tuple[str, bool]]:
        """The columns."""
        return [(name.replace("_", " "), name in _NUMBERS) for name in self.rows.column_names]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """The rows as text; intervals are at the confidence that the table was made with."""
        rows = self.rows if first is None else self.rows.slice(0, first)
        return [[_text(name, each) for name, each in row.items()] for row in rows.to_pylist()]

    @property
    def shown_rows(self) -> int:
        """How many rows there are."""
        return self.rows.num_rows

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is."""
        return f"{self.name} by {self.level}, intervals at {100 * self.confidence:.10g} %"

    def _cost(self) -> str:
        return in_words(self.loss)


def _text(name: str, value: object) -> str:
    if name == "value":
        return f"{value:,}"
    return f"{value:,.1f}" if name in _NUMBERS else str(value)
