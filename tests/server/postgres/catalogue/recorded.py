"""The queries that clients send, and what is compared of their answers.

Each file of `queries` holds the texts of one client, each after a line `--- number`, with the values of its
parameters; those of `by_hand` no client sent: they try what is listed. Numbers of objects that are not built in
differ from server to server: in texts and answers the object stands instead, as `<class public.visits>`. An answer is
its columns' names and types, and the text of each value, as a client reads it. What is not compared, with the reason,
is in `test_recorded`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.server.postgres.catalogue import Catalogue

HERE = Path(__file__).parent
POLICY = HERE / "clinic.toml"
OBJECTS = """
SELECT c.oid::int8 AS oid, 'class ' || n.nspname || '.' || c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid >= 16384
UNION ALL SELECT t.oid::int8, 'type ' || n.nspname || '.' || t.typname
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid >= 16384
UNION ALL SELECT k.oid::int8, 'constraint ' || n.nspname || '.' || k.conname
FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace WHERE k.oid >= 16384
UNION ALL SELECT oid::int8, 'schema ' || nspname FROM pg_namespace WHERE oid >= 16384
UNION ALL SELECT oid::int8, 'role ' || rolname FROM pg_roles WHERE oid >= 16384
UNION ALL SELECT oid::int8, 'database' FROM pg_database
"""
"""Every object that is not built in, by its number."""
MOST_STORED = 40
_HEAD = re.compile(r"^--- (\d+) ?(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\b1[67]\d{3}\b")
_BOUNDS = re.compile(r"^\[\d+:\d+\]=(?=\{)")
"""Where an array does not count from 1, which is not compared."""
_OBJECT = re.compile(r"<((?:class|type|constraint|schema|role) [\w.$]+|database)>")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A query that a client sent."""

    client: str
    number: int
    text: str
    parameters: tuple[str | None, ...] = ()

    def numbered(self, objects: Mapping[str, int]) -> tuple[str, list[str | None]]:
        """The text and the parameters with the numbers of objects of one server."""
        return name_back(self.text, objects), [each and name_back(each, objects) for each in self.parameters]


def recorded() -> list[Recorded]:
    """All of them."""
    queries = list[Recorded]()
    for path in sorted((HERE / "queries").glob("*.sql")):
        _, *parts = _HEAD.split(path.read_text(encoding="utf-8"))
        for number, parameters, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            values = tuple(json.loads(parameters)) if parameters else ()
            queries.append(Recorded(path.stem, int(number), text.strip("\n"), values))
    return queries


@cache
def answers(client: str) -> dict[int, Any]:
    """The stored answers of the real server."""
    stored = json.loads((HERE / "answers" / f"{client}.json").read_text(encoding="utf-8"))
    return {int(number): answer for number, answer in stored.items()}


def compact(answer: Any) -> Any:
    """An answer as it is stored: of more than 40 rows their number and a digest, in whatever order they come."""
    if len(answer.get("rows", ())) <= MOST_STORED:
        return answer
    rows = sorted(json.dumps(row, ensure_ascii=False) for row in answer["rows"])
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    others = {name: value for name, value in answer.items() if name != "rows"}
    return {**others, "count": len(rows), "sha256": digest}


def name_back(text: str, objects: Mapping[str, int]) -> str:
    return _OBJECT.sub(lambda match: str(objects[match[1]]), text)


def name_objects(value: str | None, names: Mapping[int, str]) -> str | None:
    """The text of a value, with objects for their numbers."""
    if value is None:
        return None
    value = _BOUNDS.sub("", value)
    return _NUMBER.sub(lambda match: f"<{names[int(match[0])]}>" if int(match[0]) in names else match[0], value)


def normal(columns: Iterable[tuple[str, str]], rows: Iterable[Iterable[str | None]], names: Mapping[int, str]) -> Any:
    """An answer as it is compared."""
    return {
        "columns": [list(column) for column in columns],
        "rows": [[name_objects(value, names) for value in row] for row in rows],
    }


def ours(catalogue: Catalogue, query: Recorded, names: Mapping[int, str]) -> Any:
    """The catalogue's answer, as it is compared."""
    text, parameters = query.numbered({name: number for number, name in names.items()})
    table = catalogue.answer(text, parameters)
    assert table is not None
    return of_table(table, names)


def of_table(table: pa.Table, names: Mapping[int, str]) -> Any:
    kinds = [field.metadata[b"pg_type"].decode() for field in table.schema]
    columns = zip(table.schema.names, kinds, strict=True)
    values = [
        [shown(value, kind) for value in column.to_pylist()] for column, kind in zip(table.columns, kinds, strict=True)
    ]
    return normal(columns, zip(*values, strict=True) if values else [], names)


def shown(value: Any, kind: str) -> str | None:
    """A value as PostgreSQL writes it."""
    if value is None:
        return None
    if isinstance(value, list):
        if kind in ("oidvector", "int2vector"):
            return " ".join(map(str, value))
        return "{" + ",".join("NULL" if each is None else _element(str(shown(each, ""))) for each in value) + "}"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)


def _element(text: str) -> str:
    if text and text.upper() != "NULL" and not re.search(r'[\s"\\{},]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
