"""What rows are counted: those of a private table of the policy, or those that a SELECT makes of several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.marginals import private_table
from discreet.policy import Policy
from discreet.query import BoundedAggregate, CodedCells, Field, SelectedRows, coded_rows, select_rows

__all__ = ["Source", "is_query"]

_QUERY = re.compile(r"\s*(select|with)\s", re.IGNORECASE)


def is_query(table: str) -> bool:
    """Whether a text is a SELECT, not the name of a table."""
    return _QUERY.match(table) is not None


@dataclass(frozen=True, slots=True)
class Source:
    """The rows that a specification names, under a policy.

    Attributes
    ----------
    table
        The name of the table; empty for a SELECT.
    columns
        What is publicly known of each column.
    identifiers
        Columns that say whose a row is, and cannot be published.
    policy
        The policy.
    selected
        The rows of a SELECT.
    """

    table: str
    columns: Mapping[str, Field]
    identifiers: frozenset[str]
    policy: Policy
    selected: SelectedRows | None = None

    @classmethod
    def of_policy(cls, table: str, policy: Policy) -> Source:
        """Find a table, or check a SELECT. Raises `QueryError` for one that cannot be counted."""
        if is_query(table) and not any(name.casefold() == table.casefold() for name in policy.tables):
            selected = select_rows(table, policy)
            return cls("", selected.columns, selected.identifiers, policy, selected)
        name, private = private_table(policy, table)
        columns = {each: Field.from_column(column) for each, column in private.columns.items()}
        return cls(name, columns, frozenset(policy.identifiers(name)), policy)

    @property
    def called(self) -> str:
        """What an error calls it."""
        return self.table or "the query"

    def named(self, column: str) -> str:
        """What an error calls a column."""
        return f"{self.table}.{column}" if self.table else column

    def rows(self, columns: Mapping[str, CodedCells]) -> BoundedAggregate:
        """The rows by cells of columns. Raises `QueryError` for rows that one person may have too many of."""
        if self.selected is None:
            return coded_rows(self.policy, self.table, columns)
        return self.selected.coded(columns)
