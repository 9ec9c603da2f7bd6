"""The public facts of a source: tables, units, column types, bounds, keys, caps and budget.

Everything in a policy is public by definition. It is written by the data owner, from knowledge that does not come
from the rows themselves, and it is the only thing besides the query that a refusal may depend on.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)

from discreet.errors import ParameterError, PolicyError
from discreet.privacy import Loss, Relation, Unit, approx, mu, pure, rho
from discreet.rational import rational
from discreet.reprs import source_repr

__all__ = [
    "Bound",
    "Budget",
    "Column",
    "ColumnType",
    "DeclaredGraph",
    "Key",
    "PersonPath",
    "Policy",
    "Table",
    "column_to_toml",
    "load_policy",
    "toml_key",
    "toml_value",
]

ColumnType = Literal["bool", "int", "float", "decimal", "string", "date", "timestamp"]
Key = bool | int | str | dt.date | dt.datetime
Bound = Fraction | dt.date | dt.datetime
"""An end of a column's values, both ends included: a number, or a date or timestamp of such a column."""

_MAX_BOUND = Fraction(10) ** 100
_MAX_CAP = 1_000_000
_MAX_RANGE = 10_000
_NUMERIC = ("int", "float", "decimal")
_BOUNDED = (*_NUMERIC, "date", "timestamp")
_UNIT = (
    'unit: is missing: name the column that identifies a person, or say unit = "rows" if every row is another person, '
    'unit = "order_id -> orders.id" if another table knows whose a row is, or public = true if it is about nobody'
)


def _exact(value: object) -> Fraction:
    try:
        return rational(value, "it")  # pyright: ignore[reportArgumentType]
    except ParameterError as error:
        raise ValueError(str(error)) from None


def _listed(keys: object) -> object:
    """The values of a range of keys; anything else as it is."""
    if not isinstance(keys, Mapping):
        return keys
    ends = cast("Mapping[object, object]", keys)
    if set(ends) != {"from", "to"}:
        raise ValueError("a range of keys has from and to, as in keys = { from = 1, to = 12 }")
    first, last = (dt.date.fromisoformat(end) if isinstance(end, str) else end for end in (ends["from"], ends["to"]))
    match first, last:
        case (dt.datetime(), _) | (_, dt.datetime()) | (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return _counted(last - first, lambda place: first + place)
        case dt.date(), dt.date():
            return _counted((last - first).days, lambda place: first + dt.timedelta(days=place))
        case _:
            pass
    raise ValueError("a range of keys goes from a whole number to another, or from a date to another")


def _counted(steps: int, value: Callable[[int], Key]) -> tuple[Key, ...]:
    if not 0 <= steps < _MAX_RANGE:
        raise ValueError(f"a range of keys goes up, and has at most {_MAX_RANGE:,} values")
    return tuple(map(value, range(steps + 1)))


def _bound(value: object) -> object:
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str):
        for read in (dt.date.fromisoformat, dt.datetime.fromisoformat):
            if "-" in value[1:]:
                try:
                    return read(value)
                except ValueError:
                    continue
    return _exact(value)


_Exact = Annotated[Fraction, BeforeValidator(_exact)]
_Bound = Annotated[Any, BeforeValidator(_bound)]
_Cap = Annotated[StrictInt, Field(ge=1, le=_MAX_CAP)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __repr__(self) -> str:
        values = (
            (name, getattr(self, name), field.get_default(call_default_factory=True))
            for name, field in type(self).model_fields.items()
        )
        given = (f"{name}={source_repr(value)}" for name, value, default in values if value != default)
        return f"{type(self).__name__}({', '.join(given)})"

    __str__ = __repr__


class Column(_Part):
    """A column that queries may name.

    `bounds` clamp its values before they enter a sum; `keys` are the values it can be grouped by, all of them public,
    as a list or, for whole numbers and dates, as a range ``{"from": 1, "to": 12}`` with both its ends. Without keys, a
    column has public groups where its type or its bounds leave few values, and else private keys, which are discovered
    under differential privacy. Bounds of a timestamp may be dates: the whole of the last day is within them.

    >>> Column(type="int", keys={"from": 1, "to": 4}).keys
    (1, 2, 3, 4)
    >>> Column(type="date", bounds=("2024-01-01", "2024-12-31")).bounds
    (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    """

    type: ColumnType
    bounds: tuple[_Bound, _Bound] | None = None
    keys: Annotated[tuple[Any, ...] | None, BeforeValidator(_listed)] = None
    nullable: StrictBool = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.bounds is not None:
            self._check_bounds(*self.bounds)
        if self.keys is not None:
            object.__setattr__(self, "keys", _typed_keys(self.type, self.keys))
        return self

    def _check_bounds(self, lower: Bound, upper: Bound) -> None:
        if self.type not in _BOUNDED:
            raise ValueError(f"bounds are for {', '.join(_BOUNDED)} columns; this one is {self.type}")
        if self.type == "timestamp":
            lower, upper = _moment(lower, dt.time.min), _moment(upper, dt.time.max)
            object.__setattr__(self, "bounds", (lower, upper))
        ends = (lower, upper)
        if self.type in ("date", "timestamp"):
            wanted = dt.datetime if self.type == "timestamp" else dt.date
            if not all(type(end) is wanted for end in ends):
                raise ValueError(f"bounds of a {self.type} column must be {_DATE_EXAMPLES[self.type]}")
            if not lower <= upper:  # pyright: ignore[reportOperatorIssue]
                raise ValueError("bounds must be [first, last] with first not after last")
            return
        if not all(isinstance(end, Fraction) for end in ends):
            raise ValueError(f"bounds of {self.type} columns are numbers")
        assert isinstance(lower, Fraction)
        assert isinstance(upper, Fraction)
        if not lower < upper:
            raise ValueError("bounds must be [lower, upper] with lower < upper")
        if max(abs(lower), abs(upper)) > _MAX_BOUND:
            raise ValueError("bounds must lie within ±1e100")
        if self.type == "int" and (lower.denominator != 1 or upper.denominator != 1):
            raise ValueError("bounds of an int column must be whole numbers")

    @property
    def number_bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds of a column of numbers; None without bounds, and for dates and timestamps."""
        return self.bounds if self.type in _NUMERIC else None


def _moment(end: Bound, time: dt.time) -> Bound:
    if isinstance(end, dt.datetime) and end.tzinfo is not None:
        raise ValueError("bounds of a timestamp column have no time zone; write them without, in UTC")
    if isinstance(end, dt.date) and not isinstance(end, dt.datetime):
        return dt.datetime.combine(end, time)
    return end


@dataclass(frozen=True, slots=True)
class PersonPath:
    """Whose a row is when the table has no person of its own: those of the rows of `table` whose `key` is `column`."""

    column: str
    table: str
    key: str


class Table(_Part):
    """A table about people, or a public one.

    `unit` says whom a row belongs to: ``"rows"`` (every row is another person), the column that names the person, or a
    path to the table that knows, ``"order_id -> orders.id"``. A public table has no unit, and `key` names the column,
    if there is one, that no two of its rows share.
    """

    unit: Annotated[str, Field(min_length=1)] | None = None
    public: StrictBool = False
    key: str | None = None
    max_rows: _Cap | None = None
    max_groups: _Cap | None = None
    columns: dict[str, Column]

    @model_validator(mode="after")
    def _check(self) -> Self:
        folded = [name.casefold() for name in self.columns]
        if len(set(folded)) != len(folded):
            raise ValueError("column names may not differ by case alone")
        if self.public:
            self._check_public()
        elif self.unit is None:
            raise ValueError(_UNIT)
        elif self.key is not None:
            raise ValueError("key is for public tables; leave it out")
        elif self.unit == "rows":
            if (self.max_rows or 1) != 1 or (self.max_groups or 1) != 1:
                raise ValueError('with unit = "rows" every row is another person: leave max_rows and max_groups out')
        elif self.max_rows is None:
            whom = "person" if self.path else self.unit
            raise ValueError(
                f"max_rows is missing: say how many rows of one {whom} may count, for example max_rows = 5; "
                'or, if every row is another person, unit = "rows"'
            )
        return self

    def _check_public(self) -> None:
        if not (self.unit is None and self.max_rows is None and self.max_groups is None):
            raise ValueError("a public table is about nobody: leave unit, max_rows and max_groups out")
        if self.key is not None and self.key not in self.columns:
            raise ValueError(f"key = {self.key!r} is not among the table's columns")

    @property
    def path(self) -> PersonPath | None:
        """The way to the table that knows whose a row is; None where the table has a person column or needs none."""
        if self.unit is None or "->" not in self.unit:
            return None
        column, _, target = (part.strip() for part in self.unit.partition("->"))
        table, _, key = (part.strip() for part in target.partition("."))
        return PersonPath(column, table, key)

    @property
    def person(self) -> str | None:
        """The table's own column that names the person, if it has one."""
        return None if self.unit in (None, "rows") or self.path else self.unit

    @property
    def by_rows(self) -> bool:
        """Whether every row is another person."""
        return self.unit == "rows"

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that say whose a row is, which need no entry under `columns`."""
        return tuple(name for name in (self.person, self.path and self.path.column) if name)

    @property
    def rows_per_unit(self) -> int:
        """The most rows that one unit contributes."""
        return 1 if self.max_rows is None else self.max_rows

    @property
    def groups_per_unit(self) -> int:
        """The most groups that one unit contributes to."""
        return min(self.rows_per_unit, self.max_groups or self.rows_per_unit)


class Budget(_Part):
    """The loss that the owner accepts in total, in one currency: ε, (ε, δ), or ρ or μ with a δ beside it.

    With `every` it begins again with each such window of the calendar (UTC), and losses of windows add up; from `until`
    on nothing is spent. Both go into the ledger when it is made.

    >>> Budget(epsilon=1.5, delta="1e-6", every="month")
    Budget(epsilon=1.5, delta=1e-06, every='month')
    """

    epsilon: _Exact | None = None
    rho: _Exact | None = None
    mu: _Exact | None = None
    delta: _Exact = Fraction(0)
    every: Literal["day", "week", "month", "quarter", "year"] | None = None
    until: dt.datetime | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(each is not None for each in (self.epsilon, self.rho, self.mu)) != 1:
            raise ValueError("give one of epsilon = …, rho = … or mu = …")
        if self.until is not None and self.until.tzinfo is None:
            raise ValueError("until needs a time zone, for example 2027-01-01T00:00:00Z")
        self.loss()
        return self

    def loss(self) -> Loss:
        """The budget as a loss."""
        try:
            if self.rho is not None:
                return rho(self.rho, self.delta)
            if self.mu is not None:
                return mu(self.mu, self.delta)
            assert self.epsilon is not None
            return approx(self.epsilon, self.delta) if self.delta else pure(self.epsilon)
        except ParameterError as error:
            raise ValueError(str(error)) from None


class DeclaredGraph(_Part):
    """A graph whose edges are the rows of a table, and whom it protects: single edges, or people with all of theirs.

    `ends` are the two columns that hold the ends of an edge. `nodes` is the column, ``"people.id"``, whose public
    values are the vertices; the public values of the ends if it is not given. Under ``"edge"`` the vertices are public.
    Loops and repeats do not count, nor does a direction. `max_degree` is, under ``"node"``, a public cap.
    """

    edges: str
    ends: Annotated[list[str], Field(min_length=2, max_length=2)]
    protects: Literal["edge", "node"]
    nodes: str | None = None
    max_degree: _Cap | None = None

    def check(self, tables: Mapping[str, Table], relation: Relation) -> None:
        """Raise `ValueError` if it is about no such table or columns, or has no public vertices."""
        if self.edges not in tables or tables[self.edges].public:
            raise ValueError(f"edges = {self.edges!r} is no private table of the policy")
        table = tables[self.edges]
        if self.ends[0] == self.ends[1] or not all(end in table.columns for end in self.ends):
            raise ValueError(f"ends are two columns of {self.edges}, declared with their types")
        if self.protects == "edge":
            if table.unit != "rows":
                raise ValueError(f'with protects = "edge" every row of {self.edges} is an edge: set its unit = "rows"')
            if relation != "add_remove":
                raise ValueError('graphs that differ in one edge are neighbours under relation = "add_remove" alone')
            if self.max_degree is not None:
                raise ValueError('max_degree is for protects = "node"; leave it out')
        home, _, column = (self.nodes or f"{self.edges}.{self.ends[0]}").partition(".")
        if home not in tables or column not in tables[home].columns:
            raise ValueError(f'nodes is a column of the policy, as "people.id", and {self.nodes!r} is none')
        types = {tables[home].columns[column].type, *(table.columns[end].type for end in self.ends)}
        if len(types) > 1:
            raise ValueError(f"both ends and {home}.{column} must be of one type")
        if self.protects == "edge":
            for place, name in ((table, self.ends[0]), (table, self.ends[1]), (tables[home], column)):
                declared = place.columns[name]
                if declared.keys is None and not (declared.type == "int" and declared.bounds):
                    raise ValueError(
                        f"under edge privacy the vertices are public: give {name} keys, or bounds of whole numbers"
                    )


class Policy(_Part):
    """The public facts of a source. See the module docstring; load one with `load_policy`.

    `people` is the name of the people whom its tables are about: policies that share a ledger are about the same.
    `part` says that all of them are in this part of the people, as the ledger names it; the owner vouches that nobody
    is in two parts. `graphs` have edges that are rows of its tables.
    """

    version: Annotated[str, Field(min_length=1)]
    people: Annotated[str, Field(min_length=1)] | None = None
    part: Annotated[str, Field(min_length=1)] | None = None
    relation: Relation = "add_remove"
    budget: Budget | None = None
    tables: Annotated[dict[str, Table], Field(min_length=1)]
    graphs: dict[str, DeclaredGraph] = Field(default_factory=dict[str, DeclaredGraph])

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, graph in self.graphs.items():
            try:
                graph.check(self.tables, self.relation)
            except ValueError as error:
                raise ValueError(f"graphs.{name}: {error}") from None
        if len({graph.protects for graph in self.graphs.values()}) > 1:
            raise ValueError("graphs that protect edges and graphs that protect people need a policy and a ledger each")
        folded = [name.casefold() for name in self.tables]
        if len(set(folded)) != len(folded):
            raise ValueError("table names may not differ by case alone")
        for name in self.tables:
            self._owner(name)
        return self

    def _owner(self, table: str) -> Table:
        """The table at the end of a path; raises `ValueError` if it leads nowhere."""
        passed: list[str] = []
        at = table
        while (path := self.tables[at].path) is not None:
            passed.append(at)
            if not (path.column and path.table and path.key):
                raise ValueError(f'tables.{table}.unit: write a path as "order_id -> orders.id"')
            if path.table not in self.tables:
                raise ValueError(f"tables.{table}.unit: the policy has no table {path.table}")
            if path.table in passed:
                raise ValueError(f"tables.{table}.unit: the path comes back to {path.table}, so it names nobody")
            at = path.table
        if passed and self.tables[at].person is None:
            raise ValueError(f"tables.{table}.unit: the path ends in {at}, whose rows have no column for the person")
        return self.tables[at]

    @property
    def counts(self) -> Literal["people", "edges"]:
        """Whose losses its ledger counts: of single edges, if it has a graph that protects these."""
        return "edges" if any(each.protects == "edge" for each in self.graphs.values()) else "people"

    def unit(self, table: str) -> Unit:
        """Whom a table protects, and against which neighbour. A public table protects nobody: ask for private ones."""
        name = self._owner(table).person
        return Unit.rows(self.relation) if name is None else Unit.column(name, self.relation)

    def identifiers(self, table: str) -> frozenset[str]:
        """The columns of a table that say whose a row is: what names a person, and where paths leave or arrive."""
        return frozenset((*self.tables[table].hidden, *self.linked_by(table)))

    def linked_by(self, table: str) -> tuple[str, ...]:
        """The columns of a table at which paths of other tables arrive; they need no entry under `columns`."""
        paths = (each.path for each in self.tables.values())
        return tuple(sorted({path.key for path in paths if path is not None and path.table == table}))

    def digest(self) -> str:
        """SHA-256 of the policy's canonical JSON: equal policies have equal digests, however they were written."""
        content = self.model_dump()
        for table in content["tables"].values():
            _drop_defaults(table, Table, ("public", "key"))
        _drop_defaults(content, Policy, ("people", "part", "graphs"))
        if content["budget"] is not None:
            _drop_defaults(content["budget"], Budget, ("every", "until"))
        canonical = json.dumps(content, default=str, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def load_policy(source: str | os.PathLike[str] | Mapping[str, object] | Policy) -> Policy:
    """Read a policy from a TOML file or from a dict of the same shape.

    Numbers mean their printed decimal: ``0.1`` is 1/10. Raises `PolicyError` if the file cannot be read, a key is
    unknown, or something required is missing.

    >>> policy = load_policy({"version": "1", "budget": {"epsilon": 0.3},
    ...                       "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}}})
    >>> policy.unit("t").name is None
    True
    """
    if isinstance(source, Policy):
        return source
    if isinstance(source, Mapping):
        name, data = "the policy", dict(source)
    elif isinstance(source, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        name = os.fspath(source)
        data = _read_toml(Path(source))
    else:
        raise PolicyError(f"a policy is a TOML file or a dict of the same shape, got {type(source).__name__}")
    try:
        return Policy.model_validate(data)
    except ValidationError as error:
        problems = _problems(error)
        words = "; ".join(f"{'.'.join(where) or 'policy'}: {what}" for where, what in problems)
        raise PolicyError(f"{name}: {words}", problems) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise PolicyError(
            f"{path}: there is no such file; `discreet policy init DATA` writes a skeleton to start from"
        ) from None
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # also what is not UTF-8, a null byte in the path, and integers without end
        raise PolicyError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise PolicyError(f"{path} is nested too deeply to be a policy") from None


def _problems(error: ValidationError) -> list[tuple[tuple[str, ...], str]]:
    problems: list[tuple[tuple[str, ...], str]] = []
    for part in error.errors(include_url=False):
        message = part["msg"].removeprefix("Value error, ")
        if part["type"] == "extra_forbidden":
            message = "unknown key; see docs/policy.md for the keys a policy has"
        elif part["type"] == "missing":
            message = _MISSING.get(str(part["loc"][-1]), "is missing")
        problems.append((tuple(map(str, part["loc"])), message))
    return problems


def _drop_defaults(content: dict[str, Any], model: type[_Part], later: tuple[str, ...]) -> None:
    """Keys that the first policies did not have are left out of the digest where they say nothing."""
    for name in later:
        if content[name] == model.model_fields[name].get_default(call_default_factory=True):
            del content[name]


_DATE_EXAMPLES = {
    "date": "dates, as [2020-01-01, 2026-12-31]",
    "timestamp": "timestamps without a time zone, or dates, as [2020-01-01, 2026-12-31T12:00:00]",
}
_MISSING = {
    "version": 'is missing: give the data a public label, for example version = "2026-11"',
}


def _typed_keys(kind: ColumnType, keys: tuple[Any, ...]) -> tuple[Key, ...]:
    if kind in ("float", "decimal"):
        raise ValueError(f"a {kind} column cannot be grouped by; declare it int or string, or leave keys out")
    if not keys:
        raise ValueError("keys may not be an empty list; leave keys out if they are private")
    typed = tuple(_typed_key(kind, key) for key in keys)
    if len(set(typed)) != len(typed):
        raise ValueError("keys may not repeat")
    return typed


def _typed_key(kind: ColumnType, key: object) -> Key:
    match kind, key:
        case "bool", bool():
            return key
        case "int", int() if not isinstance(key, bool) and -(2**63) <= key < 2**63:
            return key
        case "string", str() if key.isascii() or key.encode(errors="ignore").decode() == key:  # no lone surrogates
            return key
        case "timestamp", dt.datetime() if key.tzinfo is None:
            return key
        case "date", dt.date() if not isinstance(key, dt.datetime):
            return key
        case "date", str():
            return dt.date.fromisoformat(key)
        case "timestamp", str():
            return _typed_key(kind, dt.datetime.fromisoformat(key))
        case _:
            raise ValueError(f"key {key!r} does not suit a column of type {kind}")


def column_to_toml(name: str, column: Column) -> str:
    """The line of a column under ``[tables.NAME.columns]``.

    >>> column_to_toml("body mass", Column(type="float", bounds=(0, "32.5")))
    '"body mass" = { type = "float", bounds = [0, 32.5] }'
    """
    parts = [f'type = "{column.type}"']
    if column.bounds is not None:
        parts.append(f"bounds = [{', '.join(map(toml_value, column.bounds))}]")
    if column.keys is not None:
        parts.append(f"keys = [{', '.join(map(toml_value, column.keys))}]")
    if not column.nullable:
        parts.append("nullable = false")
    return f"{toml_key(name)} = {{ {', '.join(parts)} }}"


def toml_key(name: str) -> str:
    """A name as TOML writes it before `=`, or between dots."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Key | Bound) -> str:
    r"""A value as TOML writes it, on one line: a number exactly, as text if no decimal is.

    >>> toml_value(True), toml_value(Fraction(1, 8)), toml_value(Fraction(1, 3)), toml_value('a "b"')
    ('true', '0.125', '"1/3"', '"a \\"b\\""')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dt.date():
            return value.isoformat()
        case Fraction() if value.denominator != 1 or abs(value) >= 10**18:
            decimal = Decimal(value.numerator) / Decimal(value.denominator)
            if Fraction(decimal) != value:
                return f'"{value}"'
            form = "f" if Fraction(1, 10**6) <= abs(value) < 10**18 else "e"
            return format(decimal.normalize(), form).replace("e+", "e")
        case _:
            return str(value)
