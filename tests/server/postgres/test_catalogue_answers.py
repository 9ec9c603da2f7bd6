"""A session before a catalogue, which is asked first: its answers and parameters have PostgreSQL's types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from frontends import SYNC, Wire, bind, describe, error, execute, kinds, parse, query, rows
from fronts import Front, terms

from discreet.errors import QueryError
from discreet.server.postgres.values.types import TYPE_KEY


@dataclass
class Description:
    parameters: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


class Objects:
    """A catalogue of one relation, which notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, str] | None]] = []

    def answer(
        self, sql: str, parameters: Sequence[Any] = (), settings: Mapping[str, str] | None = None
    ) -> pa.Table | None:
        if "pg_" not in sql:
            return None
        if "nothing" in sql:
            raise QueryError('column "nothing" does not exist')
        self.asked.append((sql, settings))
        fields = [
            pa.field("oid", pa.int64(), metadata={TYPE_KEY: b"oid"}),
            pa.field("relname", pa.string(), metadata={TYPE_KEY: b"name"}),
        ]
        return pa.table([pa.array([16_384]), pa.array(["visits"])], schema=pa.schema(fields))

    def describe(self, sql: str, parameters: int = 0) -> Description | None:
        if "pg_" not in sql:
            return None
        return Description(("oid[]", "name")[:parameters], (("oid", "oid"), ("relname", "name")))


@pytest.fixture(scope="module")
def shown() -> Iterator[tuple[Front, Objects]]:
    objects = Objects()
    front = Front(terms(insecure=True), catalogue=objects).start()
    yield front, objects
    front.stop()
    assert front.status == []


def columns(body: bytes) -> list[tuple[str, int]]:
    """Names and OIDs of a RowDescription."""
    at, read = 2, list[tuple[str, int]]()
    for _ in range(int.from_bytes(body[:2], "big")):
        end = body.index(b"\0", at)
        read.append((body[at:end].decode(), int.from_bytes(body[end + 7 : end + 11], "big")))
        at = end + 19
    return read


def test_the_catalogue_goes_first(shown: tuple[Front, Objects]) -> None:
    front, objects = shown
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada", options="-c search_path=public")
        seen = wire.ask(query("SELECT oid, relname FROM pg_class"))
        assert columns(seen[0][1]) == [("oid", 26), ("relname", 19)] and rows(seen) == [[b"16384", b"visits"]]
        assert objects.asked[-1][1] == {"search_path": "public"}
        assert error(wire.ask(query("SELECT nothing FROM pg_class")))["C"] == "42703"
        assert rows(wire.ask(query("SELECT 1"))) == [[b"1"]]


def test_parameters_of_the_catalogue_have_its_types(shown: tuple[Front, Objects]) -> None:
    front, objects = shown
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada")
        asked = len(objects.asked)
        text = "SELECT oid, relname FROM pg_class WHERE oid = ANY($1) AND relname <> $2"
        seen = wire.ask(parse("s", text), describe("S", "s"), SYNC)
        assert kinds(seen) == "1tTZ" and len(objects.asked) == asked
        assert seen[1][1] == b"\0\2" + (1028).to_bytes(4, "big") + (19).to_bytes(4, "big")
        assert columns(seen[2][1]) == [("oid", 26), ("relname", 19)]
        one = b"\0\0\0\1\0\0\0\0\0\0\0\x1a\0\0\0\1\0\0\0\1\0\0\0\4\0\0\x40\0"
        seen = wire.ask(bind("", "s", [1, 0], [one, b"it's"], [1]), describe("P", ""), execute(), SYNC)
        assert kinds(seen) == "2TDCZ" and rows(seen) == [[(16_384).to_bytes(4, "big"), b"visits"]]
        assert objects.asked[-1][0].split("WHERE")[1] == " oid = ANY( '{16384}' ) AND relname <>  'it''s' "
