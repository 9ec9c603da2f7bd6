"""A policy put together with its budget, read from TOML or a dict, and its digest."""

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

from pydantic import Field, ValidationError, model_validator

from discreet.errors import ParameterError, PolicyError, QueryError
from discreet.policy._strict import Exact, StrictModel
from discreet.policy._tables import DeclaredGraph, Table
from discreet.privacy import Loss, Relation, Unit, approx, mu, pure, rho

__all__ = ["Budget", "Policy", "load_policy"]


class Budget(StrictModel):
    """The loss that the owner accepts in total, in one currency: ε, (ε, δ), or ρ or μ with a δ beside it.

    With `every` it begins again with each such window of the calendar (UTC), and losses of windows add up; from `until`
    on nothing is spent. Both go into the ledger when it is made.

    >>> Budget(epsilon=1.5, delta="1e-6", every="month")
    Budget(epsilon=1.5, delta=1e-06, every='month')
    """

    epsilon: Exact | None = None
    rho: Exact | None = None
    mu: Exact | None = None
    delta: Exact = Fraction(0)
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


class Policy(StrictModel):
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
            listed = graph.nodes is None or self.tables[graph.nodes.partition(".")[0]].public
            if self.part is not None and graph.protects == "node" and listed:
                raise ValueError(
                    f"graphs.{name}: in a part of the people an edge counts if both its ends are in that part: name "
                    'the column of people, the unit of a table, as nodes = "people.id"'
                )
        if len({graph.protects for graph in self.graphs.values()}) > 1:
            raise ValueError("graphs that protect edges and graphs that protect people need a policy and a ledger each")
        if len({graph.directed for graph in self.graphs.values()}) > 1:
            raise ValueError("graphs that are directed and graphs that are not need a policy and a ledger each")
        if len({name.casefold() for name in self.graphs}) < len(self.graphs):
            raise ValueError("graph names may not differ by case alone")
        folded = [name.casefold() for name in self.tables]
        if len(set(folded)) != len(folded):
            raise ValueError("table names may not differ by case alone")
        edges = {graph.edges for graph in self.graphs.values()}
        for name, table in self.tables.items():
            if table.by_ends and name not in edges:
                raise ValueError(
                    f'tables.{name}.unit: "ends" is for the edges of a graph: declare it under [graphs.NAME], with '
                    f'edges = "{name}" and protects = "node"'
                )
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
    def counts(self) -> Literal["people", "edges", "arcs"]:
        """Whose losses its ledger counts: of single edges or arcs, if it has a graph that protects these."""
        return next(iter(self.graphs.values())).counts if self.graphs else "people"

    def people_of_graphs(self, table: str) -> frozenset[str]:
        """The columns of a table that name the people of graphs that protect these."""
        columns: set[str] = set()
        for graph in self.graphs.values():
            if graph.protects == "node":
                home, _, person = (graph.nodes or "").partition(".")
                columns |= {person} if home == table else set()
                columns |= set(graph.ends) if graph.edges == table else set()
        return frozenset(columns)

    def refuse_edges(self, table: str) -> None:
        """Raise `QueryError` for a table whose rows belong to two people each: no query of rows protects both."""
        if self.tables[table].by_ends:
            graph = next(name for name, each in self.graphs.items() if each.edges == table)
            raise QueryError(
                f"a row of {table} belongs to two people, and one person may be in any number of them, so no query of "
                f"rows reads it; ask the graph {graph}: graphs.open in Python, `discreet graph count {graph} edges`"
            )

    def unit(self, table: str) -> Unit:
        """Whom a table protects, and against which neighbour. A public table protects nobody: ask for private ones.

        Raises `QueryError` for the edges of a graph that protects people.
        """
        self.refuse_edges(table)
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
        for graph in content["graphs"].values():
            _drop_defaults(graph, DeclaredGraph, ("directed",))
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


def _drop_defaults(content: dict[str, Any], model: type[StrictModel], later: tuple[str, ...]) -> None:
    """Keys that the first policies did not have are left out of the digest where they say nothing."""
    for name in later:
        if content[name] == model.model_fields[name].get_default(call_default_factory=True):
            del content[name]


_MISSING = {
    "version": 'is missing: give the data a public label, for example version = "2026-11"',
}
