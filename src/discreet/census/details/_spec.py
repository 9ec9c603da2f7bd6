"""What is asked for groups that overlap: who is in them, areas, how finely each is shown from which total on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, cast

from discreet.census.specs import Geography, at_key, only_keys, read_geography, read_spec, read_table, required
from discreet.errors import ParameterError
from discreet.marginals import CellChoice
from discreet.rational import rational

__all__ = ["Detail", "DetailSpec", "Stage"]

Stage = str
"""``"totals"``, the first, or ``"detail"``, the second."""
STAGES = ("totals", "detail")
TOTAL = "total"
"""The name of the level of detail below all thresholds."""
_KEYS = frozenset({"table", "people", "groups", "geography", "detail", "shares", "precision", "margin", "chance"})
_GROUPS = frozenset({"column", "columns", "codes", "most"})
_DETAIL = frozenset({"from", "columns", "cells"})
_PRECISION = ("standard_error", "cv", "half_width")
_TOTALS = Fraction(1, 10)
"""The part of a level's share that totals have, where nothing else is said."""
_MOST_GROUPS = 1_000
_LEAST_MARGIN = Fraction(1, 1_000)


@dataclass(frozen=True)
class Detail:
    """One way to show a group: the columns of its cells, from which noisy total on, and how columns are cut."""

    columns: tuple[str, ...]
    threshold: int
    cells: Mapping[str, CellChoice] = field(default_factory=dict[str, CellChoice])


@dataclass(frozen=True, eq=False)
class DetailSpec:
    """Groups that overlap, by areas of some levels, each shown as finely as its noisy total allows. All is public.

    Attributes
    ----------
    table
        The private table that says who is in which group: a row for each group of a person, or a row with several
        columns of groups.
    groups
        The column that names a group, or several columns of the same row.
    most
        In how many groups one person counts at most. Of a person with more, so many are drawn, as queries cap rows;
        with several columns, it is how many columns there are.
    geography
        The public areas.
    details
        The ways to show a group, by name, beside its total; a finer one has a higher threshold.
    people
        Another private table, of whose rows those of `table` are: columns that `table` has not are sought there. The
        table at which the policy's path arrives, if it is empty.
    codes
        The groups, all of which are shown; the keys of the column in the policy if there are none here.
    column
        The column that names the smallest area of a person; that of the last level if it is empty.
    shares
        For each level a number, of which a tenth is for totals, or one for ``totals`` and one for ``detail``. All
        levels alike if empty.
    precision
        From when on a number is marked as imprecise, as in `Spec`.
    margin, chance
        A group that is larger than a threshold by this share of it is to be shown so finely with this probability at
        least: a plan whose first stage is too noisy for that is refused.
    """

    table: str
    groups: tuple[str, ...]
    most: int
    geography: Geography
    details: Mapping[str, Detail]
    people: str = ""
    codes: tuple[str | int, ...] = ()
    column: str = ""
    shares: Mapping[str, Any] = field(default_factory=dict[str, Any])
    precision: Mapping[str, float] = field(default_factory=dict[str, float])
    margin: Fraction = Fraction(1, 5)
    chance: Fraction = Fraction(99, 100)

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "codes", tuple(self.codes))
        object.__setattr__(self, "column", self.column or self.geography.levels[-1])
        object.__setattr__(self, "margin", _number("margin", self.margin))
        object.__setattr__(self, "chance", _number("chance", self.chance))
        self._check_groups()
        self._check_details()
        if not _LEAST_MARGIN <= self.margin <= 1:
            raise ParameterError(
                f"margin: a share of a threshold is from 0.001 to 1, for example 0.2, not {self.margin}"
            )
        if not 0 <= self.chance < 1:
            raise ParameterError(f"chance: a probability is from 0 to below 1, for example 0.99, not {self.chance}")
        if not any(self.given_shares().values()):
            raise ParameterError("shares: some level must have a share above 0")
        for rule, limit in self.precision.items():
            if rule not in _PRECISION or not limit > 0:
                raise ParameterError(f"precision.{rule}: a rule is a number above 0 for {', '.join(_PRECISION)}")

    def _check_groups(self) -> None:
        if not self.groups or len({each.casefold() for each in self.groups}) < len(self.groups):
            raise ParameterError("groups.columns: name the column of groups, or several different ones")
        if type(self.most) is not int or not 1 <= self.most <= _MOST_GROUPS:
            raise ParameterError(f"groups.most: a person is in 1 to {_MOST_GROUPS:,} groups, not {self.most!r}")
        if len(self.groups) > 1 and self.most != len(self.groups):
            raise ParameterError(
                f"groups.most: there are {len(self.groups)} columns of groups, and each may name one; say most = "
                f"{len(self.groups)}, or list fewer columns"
            )
        if len(set(self.codes)) < len(self.codes):
            raise ParameterError("groups.codes: a group is listed twice")
        if {type(code) for code in self.codes} - {str, int} or len({type(code) for code in self.codes}) > 1:
            raise ParameterError("groups.codes: list groups as texts, or as whole numbers")

    def _check_details(self) -> None:
        if not self.details:
            _missing("detail")
        below = 0
        for name, detail in self.details.items():
            where = f"detail.{name}"
            if name == TOTAL:
                raise ParameterError(f"{where}: this is what a group below all thresholds has; take another name")
            if not detail.columns or len({each.casefold() for each in detail.columns}) < len(detail.columns):
                raise ParameterError(f'{where}.columns: name one column or more, as in columns = ["sex", "age"]')
            named = {self.column.casefold(), *(each.casefold() for each in self.groups)}
            odd = next((each for each in detail.columns if each.casefold() in named), None)
            if odd is not None:
                raise ParameterError(
                    f"{where}.columns: {odd} names areas or groups; every cell is of one of each anyway"
                )
            if type(detail.threshold) is not int or detail.threshold < 1:
                raise ParameterError(f"{where}.from: a threshold is a whole number from 1, not {detail.threshold!r}")
            if detail.threshold <= below:
                raise ParameterError(f"{where}.from: list details from coarse to fine, each with a higher threshold")
            below = detail.threshold

    @property
    def thresholds(self) -> tuple[int, ...]:
        """From which noisy total on each way of showing a group is chosen, rising."""
        return tuple(detail.threshold for detail in self.details.values())

    @property
    def ways(self) -> tuple[str, ...]:
        """The names of all ways to show a group, from coarse to fine: its total alone first."""
        return (TOTAL, *self.details)

    def given_shares(self) -> dict[tuple[str, Stage], Fraction]:
        """The share of each stage at each level that is measured, not yet of 1. Raises `ParameterError` for none."""
        levels = self.geography.levels
        odd = [level for level in self.shares if level not in levels]
        if odd:
            raise ParameterError(f"shares.{odd[0]}: there is no such level; there are {', '.join(levels)}")
        shares: dict[tuple[str, Stage], Fraction] = {}
        for level in levels:
            given, where = self.shares.get(level, 0 if self.shares else 1), f"shares.{level}"
            if isinstance(given, Mapping):
                by_stage = cast("Mapping[str, Any]", given)
                only_keys(by_stage, frozenset(STAGES), f"{where}.")
                parts = [_share(f"{where}.{stage}", by_stage.get(stage, 0)) for stage in STAGES]
                if min(parts) == 0 < max(parts):
                    raise ParameterError(f"{where}: both totals and detail need a share above 0, or neither")
            else:
                share = _share(where, given)
                parts = [share * _TOTALS, share * (1 - _TOTALS)]
            if any(parts):
                shares |= {(level, stage): part for stage, part in zip(STAGES, parts, strict=True)}
        return shares

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DetailSpec:
        """Read a specification from a TOML file; files that it names are sought beside it.

        Raises `DataError` for a file that cannot be read, `ParameterError` for what is wrong, naming the line.
        """
        return read_spec(cls, Path(path), _fields)

    @classmethod
    def of_dict(cls, data: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> DetailSpec:
        """A specification from a dict of the shape of the file. Raises as `load` does.

        >>> spec = DetailSpec.of_dict({
        ...     "table": "person_groups", "groups": {"column": "origin", "most": 8},
        ...     "geography": {"areas": {"state": ["N", "S"]}, "levels": ["state"]},
        ...     "detail": {"by_sex": {"from": 500, "columns": ["sex"]}}})
        >>> spec.ways, spec.thresholds
        (('total', 'by_sex'), (500,))
        """
        return cls(**_fields(data, Path(folder)))

    def to_json(self) -> dict[str, Any]:
        """What the distribution of the release depends on beside the policy and the cells, as plain JSON."""
        return {
            "table": self.table,
            "groups": list(self.groups),
            "most": self.most,
            "geography": self.geography.to_json(),
            "details": {name: [list(each.columns), each.threshold] for name, each in self.details.items()},
            "people": self.people,
            "codes": list(self.codes),
            "column": self.column,
            "shares": {
                level: {stage: str(self.given_shares()[level, stage]) for stage in STAGES}
                for level in dict.fromkeys(level for level, _ in self.given_shares())
            },
            "precision": {rule: str(limit) for rule, limit in self.precision.items()},
            "margin": str(self.margin),
            "chance": str(self.chance),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DetailSpec:
        """The inverse of `to_json`, but for cells, which a release has of its own."""
        return cls(
            table=str(data["table"]),
            groups=tuple(map(str, data["groups"])),
            most=data["most"],
            geography=Geography.from_json(data["geography"]),
            details={str(name): Detail(tuple(map(str, on)), start) for name, (on, start) in data["details"].items()},
            people=str(data["people"]),
            codes=tuple(data["codes"]),
            column=str(data["column"]),
            shares=data["shares"],
            precision={str(rule): float(each) for rule, each in data["precision"].items()},
            margin=Fraction(data["margin"]),
            chance=Fraction(data["chance"]),
        )


def _fields(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The fields of a specification, from a dict of the shape of the file."""
    only_keys(data, _KEYS, "")
    geography = read_geography(data, folder)
    required(data, "table")
    groups = read_table(data, "groups")
    only_keys(groups, _GROUPS, "groups.")
    if ("column" in groups) == ("columns" in groups):
        raise ParameterError('groups: say column = "origin", or columns = ["origin1", "origin2"] of the same row')
    if "most" not in groups:
        _missing("groups.most")
    return {
        "table": data["table"],
        "groups": (groups["column"],) if "column" in groups else _texts("groups.columns", groups["columns"]),
        "most": groups["most"],
        "geography": geography,
        "details": {name: _detail(f"detail.{name}", each) for name, each in read_table(data, "detail").items()},
        "people": data.get("people", ""),
        "codes": tuple(groups.get("codes", ())),
        "column": read_table(data, "geography").get("column", ""),
        "shares": read_table(data, "shares"),
        "precision": {rule: float(each) for rule, each in read_table(data, "precision").items()},
        "margin": at_key("margin", lambda: rational(data.get("margin", "0.2"), "a margin")),
        "chance": at_key("chance", lambda: rational(data.get("chance", "0.99"), "a chance")),
    }


def _detail(where: str, given: object) -> Detail:
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: it must be a table, written [{where}]")
    data = cast("Mapping[str, Any]", given)
    only_keys(data, _DETAIL, f"{where}.")
    if "from" not in data:
        raise ParameterError(f"{where}: say from which noisy total on a group is shown so, for example from = 500")
    return Detail(_texts(f"{where}.columns", data.get("columns")), data["from"], read_table(data, "cells"))


def _texts(where: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f'{where}: give a list of columns, as in ["age", "sex"]')
    return tuple(map(str, cast("Sequence[object]", given)))


def _number(where: str, given: object) -> Fraction:
    return at_key(where, lambda: rational(given, "it"))  # pyright: ignore[reportArgumentType]


def _share(where: str, given: object) -> Fraction:
    try:
        share = rational(given, "a share")  # pyright: ignore[reportArgumentType]
    except ParameterError:
        share = Fraction(-1)
    if share < 0:
        raise ParameterError(f"{where}: a share is a number from 0, not {given!r}")
    return share


def _missing(key: str) -> NoReturn:
    example = {
        "detail": 'name at least one way to show a group, under [detail.by_sex] with from = 500 and columns = ["sex"]',
        "groups.most": "say in how many groups one person counts at most, for example most = 8",
    }[key]
    raise ParameterError(f"{key}: is missing; {example}")
