"""What psql, drivers and dashboards ask of PostgreSQL's catalogue, answered from a policy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.server.postgres.catalogue._builtin import SERVER_VERSION, SERVER_VERSION_NUMBER, read_builtin
from discreet.server.postgres.catalogue._database import Database
from discreet.server.postgres.catalogue._objects import relations
from discreet.server.postgres.catalogue._output import shaped
from discreet.server.postgres.catalogue._parse import parse, reads_catalogue
from discreet.server.postgres.catalogue._queries import Queries
from discreet.server.postgres.catalogue._rows import policy_rows
from discreet.server.postgres.catalogue._scopes import Session, Table
from discreet.server.postgres.catalogue._types import canonical

__all__ = ["Catalogue"]

_VERSION = f"PostgreSQL {SERVER_VERSION} (discreet)"
_DEEP = "the query of the catalogue is nested too deeply"


class Catalogue:
    """PostgreSQL's catalogue of a database whose tables are those of a policy, as an account sees it.

    Its rows depend on the policy alone: sizes and numbers of rows are those of empty tables. Safe to share between
    threads. `for_role` shares the rows with another account.
    """

    def __init__(self, database: str, policy: Policy, role: str) -> None:
        builtin = read_builtin(database)
        rows = policy_rows(database, relations(policy), builtin)
        self._database = Database(builtin, rows)
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

    def answer(
        self, sql: str, parameters: Sequence[Any] = (), settings: Mapping[str, str] | None = None
    ) -> pa.Table | None:
        """The rows of a query that reads the catalogue, or no table at all; None for any other text.

        `parameters` are the values of $1, $2, …, and `settings` what current_setting says instead of the defaults. Each
        field's metadata has PostgreSQL's name for its type under `pg_type`. Raises `QueryError` for a query of the
        catalogue that names what is not on the list of what it may, or takes too long or too much memory.
        """
        query = parse(sql, parameters)
        if query is None or not reads_catalogue(query, self._session.tables):
            return None
        try:
            translated, items = Queries(self._session).query(query, None)
            text = translated.sql(dialect="duckdb")
        except RecursionError:
            raise QueryError(_DEEP) from None
        return shaped(self._database.ask(text), items, self._shown)

    def close(self) -> None:
        """Close the database in memory."""
        self._database.close()
