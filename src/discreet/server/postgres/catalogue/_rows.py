"""The rows of the catalogue that a policy adds to the built-in ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from discreet.server.postgres.catalogue._builtin import BuiltIn, quoter
from discreet.server.postgres.catalogue._objects import Relation, ShownColumn

__all__ = ["CALLER", "FIRST", "OWNER", "Rows", "policy_rows"]

Rows = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
"""Rows by schema and name of a relation; a column that a row does not name is null."""

OWNER = 10
"""Who owns everything: the number that PostgreSQL gives to the role that made the database."""
FIRST = 16384
"""The first number that PostgreSQL gives to what is not built in."""
CALLER = FIRST + 1
_DATABASE = FIRST
_ACL = ["discreet=arwdDxtm/discreet", "=r/discreet"]
_PUBLIC = 2200
_AM = "pg_am"
"""A built-in table, of whose rows those of other tables are copies but for what they name."""
_CLASSES, _CONSTRAINTS, _BTREE = 1259, 2606, 403
_COUNTERS = ("pg_stat_all_tables", "pg_stat_user_tables", "pg_statio_all_tables", "pg_statio_user_tables")
"""Views of what was read and written, which is nothing."""
_PRECISION: Mapping[str, Mapping[str, int]] = {
    "bigint": {"numeric_precision": 64, "numeric_precision_radix": 2, "numeric_scale": 0},
    "double precision": {"numeric_precision": 53, "numeric_precision_radix": 2},
    "numeric": {"numeric_precision_radix": 10},
    "text": {"character_octet_length": 1 << 30},
    "date": {"datetime_precision": 0},
    "timestamp without time zone": {"datetime_precision": 6},
}
"""What information_schema.columns says of values."""
_UDT = {"bigint": "int8", "double precision": "float8", "boolean": "bool", "timestamp without time zone": "timestamp"}


class _Template:
    """Built-in rows by what identifies them, to copy."""

    def __init__(self, builtin: Mapping[tuple[str, str], BuiltIn]) -> None:
        def of_am(name: str, column: str) -> list[dict[str, Any]]:
            return [row for row in builtin["pg_catalog", name].named() if row[column] == number]

        classes = {row["relname"]: row for row in builtin["pg_catalog", "pg_class"].named()}
        types = {row["typname"]: row for row in builtin["pg_catalog", "pg_type"].named()}
        number = classes[_AM]["oid"]
        self.database = builtin["pg_catalog", "pg_database"].named()[0]
        self.role = next(row for row in builtin["pg_catalog", "pg_roles"].named() if row["oid"] >= FIRST)
        self.user = next(row for row in builtin["pg_catalog", "pg_user"].named() if row["usesysid"] >= FIRST)
        self.table, self.index = classes[_AM], classes["pg_am_oid_index"]
        self.row_type, self.array_type = types[_AM], types[f"_{_AM}"]
        self.attributes = {row["attname"]: row for row in of_am("pg_attribute", "attrelid")}
        self.constraints = {row["contype"]: row for row in of_am("pg_constraint", "conrelid")}
        self.primary = next(row for row in of_am("pg_index", "indrelid") if row["indisprimary"])
        self.types = types
        self.counters = {
            name: {column: 0 for column, kind in builtin["pg_catalog", name].columns.items() if kind == "bigint"}
            for name in _COUNTERS
        }
        self.classes = {
            row["opcintype"]: row["oid"]
            for row in builtin["pg_catalog", "pg_opclass"].named()
            if row["opcdefault"] and row["opcmethod"] == _BTREE
        }
        self.equals = {
            row["oprleft"]: row["oid"]
            for row in builtin["pg_catalog", "pg_operator"].named()
            if row["oprname"] == "=" and row["oprleft"] == row["oprright"]
        }

    def value_type(self, name: str) -> dict[str, Any]:
        """The row of a type as `format_type` names it."""
        return self.types[_UDT.get(name, name)]


class _Adding:
    """Adds the rows of relations, with numbers in the order in which PostgreSQL gives them."""

    def __init__(self, database: str, template: _Template, quote: Callable[[str], str]) -> None:
        self.database, self.template, self.quote = database, template, quote
        self.rows = defaultdict[tuple[str, str], list[Mapping[str, Any]]](list)
        self.next = CALLER + 1
        self.primary = dict[str, tuple[int, int, int]]()  # a table's number, of its index, of the key column
        self.schemas = {"public": _PUBLIC}
        self.add("pg_database", template.database, oid=_DATABASE, datname=database)
        self.add("pg_roles", template.role, oid=CALLER)
        self.add("pg_user", template.user, usesysid=CALLER)
        self.triggered = set[str]()

    def add(self, name: str, template: Mapping[str, Any], /, **changed: Any) -> None:
        schema, _, relation = name.rpartition(".")
        self.rows[schema or "pg_catalog", relation].append({**template, **changed})

    def number(self) -> int:
        self.next += 1
        return self.next - 1

    def _has_triggers(self, relation: Relation) -> bool:
        """PostgreSQL holds a foreign key by triggers of both tables."""
        return relation.path is not None or (relation.schema == "public" and relation.name in self.triggered)

    def schema(self, name: str) -> int:
        if name not in self.schemas:
            self.schemas[name] = oid = self.number()
            acl = ["discreet=UC/discreet", "=U/discreet"]
            self.add("pg_namespace", {}, oid=oid, nspname=name, nspowner=OWNER, nspacl=acl)
            owned = {"catalog_name": self.database, "schema_owner": "discreet"}
            self.add("information_schema.schemata", owned, schema_name=name)
        return self.schemas[name]

    def relation(self, relation: Relation) -> None:
        copy, schema = self.template, self.schema(relation.schema)
        oid, array_type, row_type = self.number(), self.number(), self.number()
        named = {"relname": relation.name, "relnamespace": schema, "relfilenode": oid, "relacl": _ACL}
        empty = {"relpages": 0, "reltuples": -1.0, "relallvisible": 0, "relallfrozen": 0, "relreplident": "d"}
        self.add(
            "pg_class", copy.table, oid=oid, reltype=row_type, relnatts=len(relation.columns), **named, **empty,
            relhasindex=relation.key is not None, relhastriggers=self._has_triggers(relation),
        )  # fmt: skip
        for name, zeros in copy.counters.items():
            self.add(name, zeros, relid=oid, schemaname=relation.schema, relname=relation.name)
        placed = {"typnamespace": schema, "typowner": OWNER}
        self.add(
            "pg_type", copy.row_type, oid=row_type, typname=relation.name, typrelid=oid, typarray=array_type, **placed
        )
        self.add("pg_type", copy.array_type, oid=array_type, typname=f"_{relation.name}", typelem=row_type, **placed)
        for row in sorted(copy.attributes.values(), key=lambda row: row["attnum"]):
            if row["attnum"] < 0:
                self.add("pg_attribute", row, attrelid=oid)
        for number, column in enumerate(relation.columns, 1):
            self._attribute(oid, number, column, required=column.required)
            if column.comment:
                comment = {"objoid": oid, "classoid": _CLASSES, "objsubid": number}
                self.add("pg_description", comment, description=column.comment)
        if relation.comment:
            comment = {"objoid": oid, "classoid": _CLASSES, "objsubid": 0}
            self.add("pg_description", comment, description=relation.comment)
        self._constraints(oid, schema, relation)
        self._information(relation)

    def _attribute(self, relation: int, number: int, column: ShownColumn, *, required: bool) -> None:
        kind = self.template.value_type(column.type)
        self.add(
            "pg_attribute", self.template.attributes["oid"], attrelid=relation, attname=column.name, attnum=number,
            atttypid=kind["oid"], attlen=kind["typlen"], attbyval=kind["typbyval"], attalign=kind["typalign"],
            attstorage=kind["typstorage"], attcollation=kind["typcollation"], attnotnull=required,
        )  # fmt: skip

    def _constraints(self, oid: int, schema: int, relation: Relation) -> None:
        constraints, names = self.template.constraints, [column.name for column in relation.columns]
        within = {"connamespace": schema, "conrelid": oid}
        for number, column in enumerate(relation.columns, 1):
            if column.required:
                named = {"conname": f"{relation.name}_{column.name}_not_null", "conkey": [number]}
                text = f"NOT NULL {self.quote(column.name)}"
                self._constraint(constraints["n"], text, **named, **within)
        if relation.key is not None:
            number = names.index(relation.key) + 1
            index, name = self.number(), f"{relation.name}_pkey"
            self.primary[relation.name] = oid, index, number
            self._index(oid, index, schema, relation, number)
            named = {"conname": name, "conkey": [number], "conindid": index}
            text = f"PRIMARY KEY ({self.quote(relation.key)})"
            self._constraint(constraints["p"], text, **named, **within)
        if relation.path is not None:
            target, index, key = self.primary[relation.path.table]
            number = names.index(relation.path.column) + 1
            equal = [self.template.equals[self.template.value_type(relation.columns[number - 1].type)["oid"]]]
            operators = {"conpfeqop": equal, "conppeqop": equal, "conffeqop": equal}
            actions = {"confupdtype": "a", "confdeltype": "a", "confmatchtype": "s", "contype": "f"}
            column, table, referred = (self.quote(part) for part in astuple(relation.path))
            name = f"{relation.name}_{relation.path.column}_fkey"
            self._constraint(
                constraints["p"], f"FOREIGN KEY ({column}) REFERENCES {table}({referred})", conname=name,
                conindid=index, confrelid=target, conkey=[number], confkey=[key], **operators, **actions, **within,
            )  # fmt: skip
            used = {"column_name": relation.path.column, "position_in_unique_constraint": 1}
            self._key_usage(relation, name, **used)
            needs = {"classid": _CONSTRAINTS, "objid": self.next - 1, "objsubid": 0, "deptype": "n"}
            self.add("pg_depend", needs, refclassid=_CLASSES, refobjid=index, refobjsubid=0)

    def _constraint(self, template: Mapping[str, Any], text: str, **changed: Any) -> None:
        oid = self.number()
        self.add("pg_constraint", template, oid=oid, **changed)
        self.add("texts.constraint_texts", {}, oid=oid, definition=text)

    def _index(self, oid: int, index: int, schema: int, relation: Relation, number: int) -> None:
        name = f"{relation.name}_pkey"
        column = relation.columns[number - 1]
        named = {"oid": index, "relname": name, "relnamespace": schema, "relfilenode": index}
        self.add("pg_class", self.template.index, **named, relpages=1, reltuples=0.0)
        self._attribute(index, 1, column, required=False)
        kind = self.template.value_type(column.type)
        self.add(
            "pg_index", self.template.primary, indexrelid=index, indrelid=oid, indkey=[number],
            indcollation=[kind["typcollation"]], indclass=[self.template.classes[kind["oid"]]],
        )  # fmt: skip
        placed = {"schemaname": relation.schema, "tablename": relation.name}
        within, quoted = f"{self.quote(relation.schema)}.{self.quote(relation.name)}", self.quote(column.name)
        text = f"CREATE UNIQUE INDEX {self.quote(name)} ON {within} USING btree ({quoted})"
        self.add("pg_indexes", placed, indexname=name, indexdef=text)
        self.add("texts.index_texts", {}, oid=index, definition=text)
        self._key_usage(relation, name, column_name=column.name)

    def _key_usage(self, relation: Relation, name: str, **used: Any) -> None:
        constraint = {"constraint_catalog": self.database, "constraint_schema": relation.schema}
        where = {"table_catalog": self.database, "table_schema": relation.schema, "table_name": relation.name}
        self.add(
            "information_schema.key_column_usage", constraint, constraint_name=name, ordinal_position=1, **where, **used
        )

    def _information(self, relation: Relation) -> None:
        where = {"table_catalog": self.database, "table_schema": relation.schema, "table_name": relation.name}
        self.add("information_schema.tables", where, table_type="BASE TABLE", is_insertable_into="YES", is_typed="NO")
        granted = {"grantor": "discreet", "grantee": "PUBLIC", "privilege_type": "SELECT"}
        self.add("information_schema.table_privileges", where, is_grantable="NO", with_hierarchy="YES", **granted)
        self.add(
            "pg_tables", {}, schemaname=relation.schema, tablename=relation.name, tableowner="discreet",
            hasindexes=relation.key is not None, hasrules=False, hastriggers=self._has_triggers(relation),
            rowsecurity=False,
        )  # fmt: skip
        for number, column in enumerate(relation.columns, 1):
            kind = {"udt_catalog": self.database, "udt_schema": "pg_catalog", "data_type": column.type}
            never = {"is_self_referencing": "NO", "is_identity": "NO", "identity_cycle": "NO", "is_generated": "NEVER"}
            self.add(
                "information_schema.columns", where, column_name=column.name, ordinal_position=number,
                is_nullable="NO" if column.required else "YES", udt_name=_UDT.get(column.type, column.type),
                dtd_identifier=str(number), is_updatable="YES", **kind, **never, **_PRECISION.get(column.type, {}),
            )  # fmt: skip


def policy_rows(database: str, relations: Sequence[Relation], builtin: Mapping[tuple[str, str], BuiltIn]) -> Rows:
    """The rows of every relation, beside those of the database and of the caller's role."""
    adding = _Adding(database, _Template(builtin), quoter(builtin))
    adding.triggered.update(each.path.table for each in relations if each.path is not None)
    for relation in relations:
        adding.relation(relation)
    return adding.rows
