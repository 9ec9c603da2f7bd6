"""What psql, drivers and dashboards ask of PostgreSQL's catalogue, answered from a policy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.server.postgres.catalogue._builtin import SERVER_VERSION, SERVER_VERSION_NUMBER, read_builtin
from discreet.server.postgres.catalogue._database import Database
from discreet.server.postgres.catalogue._nodes import DESCRIBED
from discreet.server.postgres.catalogue._objects import relations
from discreet.server.postgres.catalogue._output import shaped, shown_type
from discreet.server.postgres.catalogue._parse import names_nothing, parse, reads_catalogue
from discreet.server.postgres.catalogue._queries import Queries
from discreet.server.postgres.catalogue._rows import policy_rows
from discreet.server.postgres.catalogue._scopes import Item, Session, Table
from discreet.server.postgres.catalogue._types import canonical

__all__ = ["Catalogue", "Description"]

_VERSION = f"PostgreSQL {SERVER_VERSION} (discreet)"
_ROWS_OF_FUNCTIONS = ("generate_series", "unnest", "current_schema", "current_schemas", "current_database", "version")
"""Functions in FROM whose names do not begin with pg_."""
_DEEP = "the query of the catalogue is nested too deeply"


@dataclass(frozen=True, slots=True)
class Description:
    """The types of a query's parameters, and the names and types of its columns, as `format_type` writes types."""

    parameters: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


class Catalogue:
    """PostgreSQL's catalogue of a database whose tables are those of a policy, as an account sees it.

    Its rows depend on the policy alone: sizes and numbers of rows are those of empty tables. Safe to share between
    threads. `for_role` shares the rows with another account. What takes most of a second to make, the database, is made
    by the first query that asks it.
    """

    def __init__(self, database: str, policy: Policy, role: str) -> None:
        builtin = read_builtin(database)
        rows = policy_rows(database, relations(policy), builtin)
        self._database = Database(builtin, rows)
        self._relations = frozenset(["information_schema", *_ROWS_OF_FUNCTIONS, *(name for _, name in builtin)])
        lookups = self._database.lookups
        self._shown = {
            "regclass": lookups.regclass_out,
            "regtype": lookups.regtype_out,
            "regproc": lookups.regproc_out,
            "regnamespace": lookups.regnamespace_out,
        }
        settings = {row["name"].lower(): row["shown"] for row in builtin["texts", "settings"].named()}
        types = [row["typname"] for row in builtin["pg_catalog", "pg_type"].named()]
        self._session = Session(
            tables={
                place: Table(each.oid, {name: canonical(kind) or kind for name, kind in each.columns.items()})
                for place, each in builtin.items()
            },
            database=database,
            role=role,
            version=_VERSION,
            settings={**settings, "server_version": SERVER_VERSION, "server_version_num": str(SERVER_VERSION_NUMBER)},
            types=frozenset([*types, *policy.tables]),
        )

    def for_role(self, role: str) -> Catalogue:
        """The same catalogue as another account sees it; closing one closes both."""
        other = copy(self)
        other._session = replace(self._session, role=role)  # noqa: SLF001
        return other

    def answer(
        self, sql: str, parameters: Sequence[Any] = (), settings: Mapping[str, str] | None = None
    ) -> pa.Table | None:
        """The rows of a query that reads the catalogue, or no table at all; None for any other text.

        `parameters` are the values of $1, $2, …, and `settings` what current_setting says instead of the defaults. Each
        field's metadata has PostgreSQL's name for its type under `TYPE_KEY`. Raises `QueryError` for a query of the
        catalogue that names what is not on the list of what it may, or takes too long or too much memory.
        """
        translated = self._translate(sql, parameters, settings or {})
        if translated is None:
            return None
        query, items, _ = translated
        return shaped(self._database.ask(query), items, self._shown)

    def describe(self, sql: str, parameters: int = 0) -> Description | None:
        """What a query that `answer` answers takes and gives, without values for its parameters; None for any other.

        Raises `QueryError` as `answer` does, but for what only running it tells.
        """
        translated = self._translate(sql, [DESCRIBED] * parameters, {})
        if translated is None:
            return None
        _, items, types = translated
        taken = tuple(types.get(number, "text") for number in range(1, parameters + 1))
        return Description(taken, tuple((item.name, shown_type(item.type)) for item in items))

    def _translate(
        self, sql: str, parameters: Sequence[Any], settings: Mapping[str, str]
    ) -> tuple[str, tuple[Item, ...], Mapping[int, str]] | None:
        if names_nothing(sql, self._relations):
            return None
        query = parse(sql, parameters)
        if query is None or not reads_catalogue(query, self._session.tables):
            return None
        known = {name.lower(): value for name, value in settings.items()}
        queries = Queries(replace(self._session, settings={**self._session.settings, **known}))
        try:
            translated, items = queries.query(query, None)
            if not items:
                raise QueryError("a query of the catalogue names the columns that it wants")
            return translated.sql(dialect="duckdb"), items, queries.parameters
        except RecursionError:
            raise QueryError(_DEEP) from None

    def close(self) -> None:
        """Close the database in memory."""
        self._database.close()
