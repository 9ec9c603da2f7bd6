"""The public facts of a source: tables, units, column types, bounds, keys, caps and budget.

Everything in a policy is public by definition. It is written by the data owner, from knowledge that does not come
from the rows themselves, and it is the only thing besides the query that a refusal may depend on.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

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

__all__ = ["Budget", "Column", "ColumnType", "Key", "Policy", "Table", "load_policy"]

ColumnType = Literal["bool", "int", "float", "decimal", "string", "date", "timestamp"]
Key = bool | int | str | dt.date | dt.datetime

_MAX_BOUND = Fraction(10) ** 100
_MAX_CAP = 1_000_000
_NUMERIC = ("int", "float", "decimal")


def _exact(value: object) -> Fraction:
    try:
        return rational(value, "it")  # pyright: ignore[reportArgumentType]
    except ParameterError as error:
        raise ValueError(str(error)) from None


_Exact = Annotated[Fraction, BeforeValidator(_exact)]
_Cap = Annotated[StrictInt, Field(ge=1, le=_MAX_CAP)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Column(_Part):
    """A column that queries may name.

    `bounds` clamp its values before they enter a sum; `keys` are the values it can be grouped by, all of them public.
    A groupable column without keys has private keys, which are discovered under differential privacy.
    """

    type: ColumnType
    bounds: tuple[_Exact, _Exact] | None = None
    keys: tuple[Any, ...] | None = None
    nullable: StrictBool = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.bounds is not None:
            self._check_bounds(*self.bounds)
        if self.keys is not None:
            object.__setattr__(self, "keys", _typed_keys(self.type, self.keys))
        return self

    def _check_bounds(self, lower: Fraction, upper: Fraction) -> None:
        if self.type not in _NUMERIC:
            raise ValueError(f"bounds are for {', '.join(_NUMERIC)} columns; this one is {self.type}")
        if not lower < upper:
            raise ValueError("bounds must be [lower, upper] with lower < upper")
        if max(abs(lower), abs(upper)) > _MAX_BOUND:
            raise ValueError("bounds must lie within ±1e100")
        if self.type == "int" and (lower.denominator != 1 or upper.denominator != 1):
            raise ValueError("bounds of an int column must be whole numbers")


class Table(_Part):
    """A table about people. `unit` says whom a row belongs to: ``"rows"``, or the column that names the person."""

    unit: Annotated[str, Field(min_length=1)]
    max_rows: _Cap | None = None
    max_groups: _Cap | None = None
    columns: dict[str, Column]

    @model_validator(mode="after")
    def _check(self) -> Self:
        folded = [name.casefold() for name in self.columns]
        if len(set(folded)) != len(folded):
            raise ValueError("column names may not differ by case alone")
        if self.unit == "rows":
            if (self.max_rows or 1) != 1 or (self.max_groups or 1) != 1:
                raise ValueError('with unit = "rows" every row is another person: leave max_rows and max_groups out')
        elif self.max_rows is None:
            raise ValueError(
                f"max_rows is missing: say how many rows of one {self.unit} may count, for example max_rows = 5; "
                'or, if every row is another person, unit = "rows"'
            )
        return self

    @property
    def rows_per_unit(self) -> int:
        """The most rows that one unit contributes."""
        return 1 if self.max_rows is None else self.max_rows

    @property
    def groups_per_unit(self) -> int:
        """The most groups that one unit contributes to."""
        return min(self.rows_per_unit, self.max_groups or self.rows_per_unit)


class Budget(_Part):
    """The loss that the owner accepts in total, in one currency: ε, (ε, δ), or ρ or μ with a δ beside it."""

    epsilon: _Exact | None = None
    rho: _Exact | None = None
    mu: _Exact | None = None
    delta: _Exact = Fraction(0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(each is not None for each in (self.epsilon, self.rho, self.mu)) != 1:
            raise ValueError("give one of epsilon = …, rho = … or mu = …")
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


class Policy(_Part):
    """The public facts of a source. See the module docstring; load one with `load_policy`."""

    version: Annotated[str, Field(min_length=1)]
    relation: Relation = "add_remove"
    budget: Budget | None = None
    tables: Annotated[dict[str, Table], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        folded = [name.casefold() for name in self.tables]
        if len(set(folded)) != len(folded):
            raise ValueError("table names may not differ by case alone")
        return self

    def unit(self, table: str) -> Unit:
        """Whom a table protects, and against which neighbour."""
        name = self.tables[table].unit
        return Unit.rows(self.relation) if name == "rows" else Unit.column(name, self.relation)

    def digest(self) -> str:
        """SHA-256 of the policy's canonical JSON: equal policies have equal digests, however they were written."""
        canonical = json.dumps(self.model_dump(), default=str, sort_keys=True, separators=(",", ":"))
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
        raise PolicyError(f"{name}: {_explain(error)}") from None


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


def _explain(error: ValidationError) -> str:
    lines: list[str] = []
    for part in error.errors(include_url=False):
        where = ".".join(str(step) for step in part["loc"]) or "policy"
        message = part["msg"].removeprefix("Value error, ")
        if part["type"] == "extra_forbidden":
            message = "unknown key; see docs/policy.md for the keys a policy has"
        elif part["type"] == "missing":
            message = _MISSING.get(str(part["loc"][-1]), "is missing")
        lines.append(f"{where}: {message}")
    return "; ".join(lines)


_MISSING = {
    "unit": 'is missing: name the column that identifies a person, or say unit = "rows" if every row is another person',
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
