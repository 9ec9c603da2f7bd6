"""A real PostgreSQL with the empty tables of a policy, which the catalogue must answer like."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from discreet.policy import Policy
from discreet.server.postgres.catalogue import _objects as objects
from discreet.server.postgres.catalogue._objects import Relation

sys.path.append(str(Path(__file__).parents[3]))
from servers import start_postgres

OWNER, ROLE, DATABASE = "discreet", "alice", "clinic"


@contextmanager
def real_server(policy: Policy | None) -> Iterator[psycopg.Connection]:
    """A connection of the role "alice" to a database that holds the tables of the policy, and nothing else."""
    folder = tempfile.mkdtemp(prefix="pg-")
    server = start_postgres(folder)
    try:
        _prepare(server.get_uri())
        with psycopg.connect(server.get_uri(DATABASE), user=OWNER, autocommit=True) as owner:
            for relation in () if policy is None else objects.relations(policy):
                create(owner, relation)
            owner.execute("GRANT USAGE ON SCHEMA discreet TO PUBLIC") if policy else None
        with psycopg.connect(server.get_uri(DATABASE), user=ROLE, autocommit=True) as connection:
            yield connection
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(uri: str) -> None:
    """One owner, who also made the catalogue, one other role, and one database."""
    with psycopg.connect(uri, autocommit=True) as first:
        first.execute("CREATE ROLE other SUPERUSER LOGIN")
    with psycopg.connect(uri, user="other", autocommit=True) as other:
        other.execute(f"ALTER ROLE postgres RENAME TO {OWNER}")
        other.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
    with psycopg.connect(uri, user=OWNER, dbname=DATABASE, autocommit=True) as owner:
        owner.execute("DROP ROLE other")
        owner.execute(f"CREATE ROLE {ROLE} LOGIN")
        for name in ("template0", "template1", "postgres"):
            owner.execute(f"ALTER DATABASE {name} IS_TEMPLATE false")
            owner.execute(f"DROP DATABASE {name}")


def create(owner: psycopg.Connection, relation: Relation) -> None:
    """Create a table as the policy declares it, with its comments, readable by all."""
    name = sql.Identifier(relation.schema, relation.name)
    owner.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(relation.schema)))
    parts = [
        sql.SQL("{} {} {} {}").format(
            sql.Identifier(column.name),
            sql.SQL(column.type),
            # Without TOAST tables, which belong to rows. They are made where a column might need one.
            sql.SQL("STORAGE PLAIN" if column.type in ("text", "numeric") else ""),
            sql.SQL("NOT NULL" if column.required else ""),
        )
        for column in relation.columns
    ]
    if relation.key is not None:
        parts.append(sql.SQL("PRIMARY KEY ({})").format(sql.Identifier(relation.key)))
    if relation.path is not None:
        path = relation.path
        parts.append(
            sql.SQL("FOREIGN KEY ({}) REFERENCES {} ({})").format(
                sql.Identifier(path.column), sql.Identifier(relation.schema, path.table), sql.Identifier(path.key)
            )
        )
    owner.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(parts)))
    owner.execute(
        "UPDATE pg_attribute SET attstorage = t.typstorage FROM pg_type AS t "
        "WHERE t.oid = atttypid AND attrelid = %s::regclass AND attnum > 0",
        [name.as_string(owner)],
    )
    if relation.comment:
        owner.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(name, sql.Literal(relation.comment)))
    for column in relation.columns:
        if column.comment:
            place = sql.Identifier(relation.schema, relation.name, column.name)
            owner.execute(sql.SQL("COMMENT ON COLUMN {} IS {}").format(place, sql.Literal(column.comment)))
    owner.execute(sql.SQL("GRANT SELECT ON {} TO PUBLIC").format(name))
