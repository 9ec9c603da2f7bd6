"""The text of a policy that is to be finished, from names, declared types and what the owner said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from discreet.errors import printable
from discreet.policy import Column, column_to_toml, toml_key, toml_value

__all__ = ["ColumnDraft", "PolicyDraft", "TableDraft", "budget_section", "skeleton"]


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """A column, None where policies have no such type. `guessed` says that its source declares no type."""

    name: str
    column: Column | None
    guessed: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class TableDraft:
    """A table, with what has been decided about it; None is still open."""

    name: str
    columns: tuple[ColumnDraft, ...]
    unit: str | None = None
    max_rows: int | Literal["auto"] | None = None
    max_groups: int | None = None

    @property
    def listed(self) -> tuple[ColumnDraft, ...]:
        """The columns that have a type in the policy."""
        return tuple(column for column in self.columns if column.column is not None)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The keys without which the policy is refused."""
        if self.unit is None:
            return ("unit",)
        return ("max_rows",) if self.unit != "rows" and self.max_rows is None else ()


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """A policy as far as it is decided. `budget` holds the keys of its section as they are written."""

    source: str
    tables: tuple[TableDraft, ...]
    version: str = "1"
    budget: Mapping[str, str] | None = None

    @property
    def undecided(self) -> tuple[str, ...]:
        """The keys, with their tables, without which the policy is refused."""
        return tuple(f"tables.{toml_key(table.name)}.{key}" for table in self.tables for key in table.undecided)


_HEAD = """\
# A policy for {source}, from its column names and declared types. No value was read.
#
# Everything in a policy is public, and every promise of privacy rests on it. Decide from what you know about how the
# data came to be, never by looking at the rows: a bound that is the data's own maximum gives that person away.
# docs/policy.md explains every key, and `discreet policy check` says what can be asked.

# A public label of this state of the data. Same label, same stored answers; new data, new label.
version = {version}

# Neighbours differ by one person added or removed. With "substitute": by one person's rows replaced.
relation = "add_remove"

"""

_DELTA = """\
# What a GROUP BY over private keys spends beside the other: a probability that the promise fails. Keep it far below
# 1 / number of people. A ledger that is made without a delta takes no such query later.
"""

_BUDGET = """\
# The loss you accept over all queries together, for as long as anyone asks about these people.
[budget]
"""

_NO_BUDGET = f"""\
# DECIDE here, or when you make a ledger with `discreet ledger create`: the loss you accept over all queries together,
# for as long as anyone asks about these people.
# [budget]
# epsilon = 1.0
{_DELTA}# delta = 1e-6
"""

_UNIT = """\
# DECIDE whom a row is about: the column that names the person, or "rows" if every row is another person.
# unit = "..."
"""

_CAPS = """\
# How many rows of one person count, over all groups, and in how many groups of one query. Noise grows with both, and
# rows beyond are left out: a few heavy users need not set them. With max_rows = "auto" each query in SQL chooses its
# own. max_groups may be left out.
"""

_TABLE = """\

[tables.{table}]
"""

_COLUMNS = """\

# Remove the columns that no query needs. COUNT and WHERE take any column. Others want more, written inside the braces:
#   bounds  for SUM, AVG and quantiles, and for dates: values beyond are moved to the nearer bound. Few values between
#           them, or few of FLOOR(x / 10) or YEAR(x), are groups that cost no delta;
#   keys    for GROUP BY, the public values. Without keys and bounds, keys are private: discovering them costs a delta.
"""

_GUESSED = """\
# A CSV file declares no types. Where "string" is not right, write bool, int, float, decimal, date or timestamp.
"""

_QUOTED = """\
# A name with more than letters, digits and _ stands in double quotes in queries too.
"""

_EXAMPLES = {
    "bool": "",
    "int": "bounds = [lower, upper], keys = [1, 2]",
    "float": "bounds = [lower, upper]",
    "decimal": "bounds = [lower, upper]",
    "string": 'keys = ["a", "b"]',
    "date": "bounds = [2020-01-01, 2026-12-31]",
    "timestamp": "bounds = [2020-01-01, 2026-12-31]",
}
"""For each type, what its columns may have besides."""


def skeleton(draft: PolicyDraft) -> str:
    """The TOML text. It depends on names, types and decisions alone.

    >>> table = TableDraft("t", (ColumnDraft("age", Column(type="int")),), unit="rows")
    >>> print(skeleton(PolicyDraft("t.parquet", (table,))).splitlines()[-1])
    age = { type = "int" }  # bounds = [lower, upper], keys = [1, 2]
    """
    parts = [_HEAD.format(source=printable(draft.source), version=toml_value(draft.version)), *_budget(draft.budget)]
    taught = False
    for table in draft.tables:
        parts.append(_TABLE.format(table=toml_key(table.name)))
        parts.extend(_decisions(table))
        parts.extend(_columns(table, taught=taught))
        taught = True
    return "".join(parts)


def budget_section(given: Mapping[str, str]) -> Mapping[str, str]:
    """Numbers as they are written in TOML: as they are, or as text, which a policy takes for 1/3."""
    return {name: text if _NUMBER.fullmatch(text) else toml_value(text) for name, text in given.items()}


_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _budget(budget: Mapping[str, str] | None) -> Iterator[str]:
    if budget is None:
        yield _NO_BUDGET
        return
    yield _BUDGET
    for name, value in budget.items():
        yield f"{_DELTA if name == 'delta' else ''}{name} = {value}\n"


def _decisions(table: TableDraft) -> Iterator[str]:
    yield _UNIT if table.unit is None else f"unit = {toml_value(table.unit)}\n"
    if table.unit == "rows":
        return
    decide = '# DECIDE, unless unit = "rows".\n' if table.unit is None else "# DECIDE.\n"
    yield (decide if table.max_rows is None else "") + _CAPS
    yield "# max_rows = 5\n" if table.max_rows is None else f"max_rows = {toml_value(table.max_rows)}\n"
    yield "# max_groups = 2\n" if table.max_groups is None else f"max_groups = {table.max_groups}\n"


def _columns(table: TableDraft, *, taught: bool) -> Iterator[str]:
    yield "\n" if taught else _COLUMNS
    if any(column.guessed for column in table.listed):
        yield _GUESSED
    if not taught and any(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", c.name) is None for c in table.listed):
        yield _QUOTED
    yield f"[tables.{toml_key(table.name)}.columns]\n"
    if table.unit is not None and table.unit != "rows":
        yield from _hidden(table)
    entries = [_entry(column) for column in table.columns]
    width = max((len(entry) for entry, _ in entries if len(entry) <= _WIDE), default=0)
    for entry, comment in entries:
        yield (f"{entry:{width}}  # {comment}" if entry and comment else entry or f"# {comment}") + "\n"


_WIDE = 60
"""Comments are in line, but for those behind longer entries."""


def _hidden(table: TableDraft) -> Iterator[str]:
    assert table.unit is not None
    names = {column.name.casefold() for column in table.columns}
    if table.unit.partition("->")[0].strip().casefold() not in names:
        yield f"# {printable(table.unit)} says whose a row is, and needs no entry.\n"


def _entry(draft: ColumnDraft) -> tuple[str, str]:
    """The line of a column, and the comment behind it."""
    column = draft.column
    if column is None:
        return "", f"{printable(draft.name)} is of a type that policies do not have; it stays invisible."
    bare = column.bounds is None and column.keys is None
    comment = "type?" if draft.guessed else _EXAMPLES[column.type] if bare else ""
    return column_to_toml(draft.name, column), "; ".join(part for part in (printable(draft.label), comment) if part)
