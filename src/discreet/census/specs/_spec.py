"""What a statistical office publishes: areas, tables, shares and rules. All of it is public, and in the certificate."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.census.specs._geography import Geography
from discreet.census.specs._reading import SpecFile, at_key, read_spec, spec_fields
from discreet.census.specs._rules import Rule
from discreet.census.specs._source import is_query
from discreet.errors import ParameterError
from discreet.marginals import CellChoice
from discreet.rational import rational

__all__ = ["Shares", "Spec"]

Shares = Mapping[str, Any]
"""For each level a number, or a number for each table."""
Districts = Mapping[str, tuple[str, ...]]
"""For each district the areas of the tree that it holds."""
_NAME = re.compile(r"[^\W\d]\w*")
_ACTIONS = ("mark", "withhold", "coarsen")
_PRECISION = ("standard_error", "cv", "half_width")


@dataclass(frozen=True, eq=False)
class Spec:
    """Areas, tables, shares of the budget and rules of one publication.

    Attributes
    ----------
    table
        The private table, with a row for each person; or a SELECT without aggregates that gives such rows, for recodes
        and for columns of tables that are joined along the policy's paths.
    geography
        The public areas.
    tables
        The columns of each table that is measured and published; none for the total.
    column
        The column of the private table that names the smallest area of a row; that of the last level if it is empty.
    shares
        How much of the spend each level has: a number for each, or one for each of its tables. 0, or none, measures
        nothing there. All levels and tables alike if empty; ``"auto"`` for the shares of least planned error.
    cells
        How columns of numbers or dates are cut: how many equal cells, or the ends between them.
    districts
        Areas off the tree: of each kind the names, and of each the areas of the tree that it holds. They are published
        as sums, and measured themselves where their kind has a share.
    zeros
        Conditions in SQL of cells that nobody can be in: structural zeros.
    held
        Totals that are public already, for each area of one level: they are published as they are.
    precision
        From when on a number is marked as imprecise, by noisy values alone: greatest ``standard_error``, ``cv`` (the
        standard error over the value) or ``half_width`` at 95 %.
    imprecise
        What is done with such numbers: ``"mark"`` them; ``"withhold"`` them, with their sum in each area; or
        ``"coarsen"`` the area's table to fewer columns, the last ones first. Totals are marked alone.
    name
        What rules call these rows; the name of the table by default.
    universes
        Other rows that are published with these, such as households beside people, by their names: each a
        specification over the same areas, with its own tables, cells, zeros and held totals.
    rules
        Linear rules that the published numbers keep in every area, between universes or within one:
        ``people[relation = 'head'] = households``.
    share
        Of the spend what these rows have beside other universes.
    file
        The file that it was read from, whose lines errors name. Not in the certificate.

    Raises `ParameterError` for what contradicts itself. What needs the policy is checked when it is planned.
    """

    table: str
    geography: Geography
    tables: Mapping[str, tuple[str, ...]]
    column: str = ""
    shares: Shares | str = field(default_factory=dict[str, Any])
    cells: Mapping[str, CellChoice] = field(default_factory=dict[str, CellChoice])
    districts: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[str, ...]]]
    )
    zeros: tuple[str, ...] = ()
    held: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    precision: Mapping[str, float] = field(default_factory=dict[str, float])
    imprecise: str = "mark"
    name: str = ""
    universes: Mapping[str, Spec] = field(default_factory=dict[str, "Spec"])
    rules: tuple[str, ...] = ()
    share: Fraction | int | str = 1
    file: SpecFile | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", {name: tuple(columns) for name, columns in self.tables.items()})
        object.__setattr__(self, "zeros", tuple(self.zeros))
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "universes", dict(self.universes))
        object.__setattr__(self, "column", self.column or self.geography.levels[-1])
        object.__setattr__(self, "name", self.name or ("rows" if is_query(self.table) else self.table))
        object.__setattr__(self, "share", share_of("share", self.share))
        self._check_tables()
        self._check_shares()
        for kind, areas in self.districts.items():
            self._check_districts(kind, areas)
        for level, totals in self.held.items():
            self._check_held(level, totals)
        for rule, limit in self.precision.items():
            if rule not in _PRECISION or not limit > 0:
                raise ParameterError(f"precision.{rule}: a rule is a number above 0 for {', '.join(_PRECISION)}")
        if self.imprecise not in _ACTIONS:
            raise ParameterError(f"precision.action: it is one of {', '.join(_ACTIONS)}, not {self.imprecise!r}")
        self._check_universes()
        _ = self.parsed_rules

    def _check_universes(self) -> None:
        names = [self.name, *self.universes]
        for name, each in self.universes.items():
            where = f"universes.{name}"
            if not _NAME.fullmatch(name) or [other.casefold() for other in names].count(name.casefold()) > 1:
                raise ParameterError(f"{where}: a universe has a name of its own, of letters and digits")
            if each.geography.digest != self.geography.digest or each.districts != self.districts:
                raise ParameterError(f"{where}: universes are published over the same areas and districts")
            if each.universes or each.rules:
                raise ParameterError(f"{where}: list all universes, and all rules between them, at the top")
        if not any(Fraction(each.share) for each in (self, *self.universes.values())):
            raise ParameterError("share: some universe must have a share above 0")

    @cached_property
    def parsed_rules(self) -> Mapping[str, Rule]:
        """The rules, by what errors call them. Raises `ParameterError` for a text that is none."""
        return {
            f"rules: rule {place + 1}": at_key(f"rules: rule {place + 1}", lambda text=text: Rule.parse(text))
            for place, text in enumerate(self.rules)
        }

    def _check_tables(self) -> None:
        if not self.tables:
            raise ParameterError('tables: name at least one, for example total = [] or age_sex = ["age", "sex"]')
        taken: dict[frozenset[str], str] = {}
        for name, columns in self.tables.items():
            folded = frozenset(each.casefold() for each in columns)
            if len(folded) < len(columns):
                raise ParameterError(f"tables.{name}: a column is named twice")
            if self.column.casefold() in folded:
                raise ParameterError(f"tables.{name}: {self.column} names the area; every table is by area anyway")
            if folded in taken:
                raise ParameterError(f"tables.{name}: it has the columns of {taken[folded]}; leave one of them out")
            taken[folded] = name

    def _check_shares(self) -> None:
        if isinstance(self.shares, str):
            if self.shares != "auto":
                raise ParameterError(f'shares: give a number for each level, or "auto", not {self.shares!r}')
            return
        if any(share for by_table in self.given_shares().values() for share in by_table.values()):
            return
        raise ParameterError("shares: some level must have a share above 0")

    @cached_property
    def universe_shares(self) -> Mapping[str, Fraction]:
        """The part of the spend that these rows and each other universe have, together 1."""
        every = {self.name: Fraction(self.share)} | {name: Fraction(u.share) for name, u in self.universes.items()}
        total = sum(every.values())
        return {name: share / total for name, share in every.items()}

    def given_shares(self) -> dict[str, dict[str, Fraction]]:
        """The share of each table at each level and kind of districts, not yet of 1; even ones if none are given.

        Raises `ParameterError` for what is no share.
        """
        levels = self.geography.levels
        if isinstance(self.shares, str) or not self.shares:
            return {level: dict.fromkeys(self.tables, Fraction(1)) for level in levels}
        shares: dict[str, dict[str, Fraction]] = {}
        for place in (*levels, *self.districts):
            given, where = self.shares.get(place, 0), f"shares.{place}"
            if isinstance(given, Mapping):
                by_table = cast("Mapping[str, Any]", given)
                odd = [name for name in by_table if name not in self.tables]
                if odd:
                    raise ParameterError(f"{where}.{odd[0]}: there is no table of that name")
                shares[place] = {name: share_of(f"{where}.{name}", each) for name, each in by_table.items()}
            else:
                shares[place] = dict.fromkeys(self.tables, share_of(where, given) / len(self.tables))
        odd = [place for place in self.shares if place not in shares]
        if odd:
            raise ParameterError(f"shares.{odd[0]}: there is no such level; there are {', '.join(shares)}")
        return shares

    def _check_districts(self, kind: str, areas: Districts) -> None:
        if kind in self.geography.levels:
            raise ParameterError(f"districts.{kind}: a level has that name already")
        seen = np.zeros(self.geography.tree.sizes[-1], bool)
        overlap: str | None = None
        for name, inside in areas.items():
            leaves = at_key(f"districts.{kind}", lambda inside=inside, name=name: self.geography.leaves(inside, name))
            overlap = name if seen[leaves].any() else overlap
            seen[leaves] = True
        measured = not isinstance(self.shares, str) and bool(self.shares.get(kind))
        if overlap is not None and measured:
            raise ParameterError(
                f"shares.{kind}: {overlap} overlaps another, and a person in two districts would be counted twice; "
                "make them two kinds, or leave the share out: districts that are not measured cost nothing"
            )

    def _check_held(self, level: str, totals: Mapping[str, int]) -> None:
        place = at_key(f"held.{level}", lambda: self.geography.level(level))
        names = self.geography.names[place]
        missing = next((name for name in names if name not in totals), None)
        odd = next((name for name in totals if name not in names), None)
        if missing is not None or odd is not None:
            what = f"has no total of {missing}" if missing is not None else f"names {odd}, which is no {level}"
            raise ParameterError(f"held.{level}: it {what}; give the public total of each {level}")
        if any(type(each) is not int or each < 0 for each in totals.values()):
            raise ParameterError(f"held.{level}: a total is a whole number from 0")
        if len(self.held) > 1:
            raise ParameterError("held: hold the totals of one level; those above it follow")

    @contextmanager
    def naming_lines(self) -> Generator[None]:
        """Errors that begin with a key of the specification name its line, if it was read from a file."""
        with nullcontext() if self.file is None else self.file.naming_lines():
            yield

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Spec:
        """Read a specification from a TOML file; files that it names are sought beside it.

        Raises `DataError` for a file that cannot be read, `ParameterError` for what is wrong, naming the line.
        """
        return read_spec(cls, Path(path))

    @classmethod
    def of_dict(cls, data: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Spec:
        """A specification from a dict of the shape of the file. Raises as `load` does.

        >>> land = {"areas": {"state": ["N", "S"]}, "levels": ["state"]}
        >>> Spec.of_dict({"table": "people", "geography": land, "tables": {"total": []}}).column
        'state'
        """
        return cls(**spec_fields(data, Path(folder), cls))

    def to_json(self) -> dict[str, Any]:
        """What the distribution of the publication depends on beside the policy, as plain JSON."""
        shares = self.shares if isinstance(self.shares, str) else _plain(self.shares)
        return {
            "table": self.table,
            "geography": self.geography.to_json(),
            "tables": {name: list(columns) for name, columns in self.tables.items()},
            "column": self.column,
            "shares": shares,
            "districts": {
                kind: {name: list(map(str, inside)) for name, inside in areas.items()}
                for kind, areas in self.districts.items()
            },
            "zeros": list(self.zeros),
            "held": {level: dict(totals) for level, totals in self.held.items()},
            "precision": {rule: str(limit) for rule, limit in self.precision.items()},
            **({} if self.imprecise == "mark" else {"imprecise": self.imprecise}),
            **self._beside(),
        }

    def _beside(self) -> dict[str, Any]:
        """What only some specifications have, as plain JSON."""
        beside: dict[str, Any] = {}
        if self.name not in (self.table, "rows"):
            beside["name"] = self.name
        if self.universes:
            shared = ("geography", "districts")
            beside["universes"] = {
                name: {
                    **{key: value for key, value in each.to_json().items() if key not in shared},
                    "share": str(each.share),
                }
                for name, each in self.universes.items()
            }
            beside["share"] = str(self.share)
        return beside | ({"rules": list(self.rules)} if self.rules else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        """The inverse of `to_json`, but for cells, which a release has of its own."""
        return cls(
            table=str(data["table"]),
            geography=Geography.from_json(data["geography"]),
            tables={str(name): tuple(map(str, columns)) for name, columns in data["tables"].items()},
            column=str(data["column"]),
            shares=data["shares"],
            districts={
                str(kind): {str(name): tuple(map(str, inside)) for name, inside in areas.items()}
                for kind, areas in data["districts"].items()
            },
            zeros=tuple(map(str, data["zeros"])),
            held={str(level): dict(totals) for level, totals in data["held"].items()},
            precision={str(rule): float(each) for rule, each in data["precision"].items()},
            imprecise=str(data.get("imprecise", "mark")),
            name=str(data.get("name", "")),
            universes={
                str(name): cls.from_json({"geography": data["geography"], "districts": data["districts"], **each})
                for name, each in data.get("universes", {}).items()
            },
            rules=tuple(map(str, data.get("rules", ()))),
            share=str(data.get("share", 1)),
        )


def share_of(where: str, given: object) -> Fraction:
    try:
        share = rational(given, "a share")  # pyright: ignore[reportArgumentType]
    except ParameterError:
        share = Fraction(-1)
    if share < 0:
        raise ParameterError(f"{where}: a share is a number from 0, not {given!r}")
    return share


def _plain(shares: Mapping[str, Any]) -> dict[str, Any]:
    return {
        level: _plain(cast("Mapping[str, Any]", each)) if isinstance(each, Mapping) else str(rational(each, "a share"))
        for level, each in shares.items()
    }
