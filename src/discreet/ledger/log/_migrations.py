"""Ledgers of older formats: read once, and continued in the format of today.

No row of an old ledger is changed. The table of format 1 is kept under another name, and the first entry of the new
chain says where it ended and what was spent; `check` follows its hashes too. Its releases are not served again.

A ledger of format 2 goes on in its own table: its rows have no salt, all rows after them have one. One of format 3 gets
an index of runs, which it has none of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import NoResultFound

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.crypto._encryption import Seal
from discreet.ledger.log._commitments import ROOT, canonical, sha256
from discreet.ledger.log._database import Database
from discreet.ledger.log._genesis import begin, new_salt_key
from discreet.ledger.log._schema import FORMAT, format_of, kind_of, meta, rare_kinds, repeats, runs
from discreet.ledger.state._events import Continued, Facts
from discreet.privacy import Loss, currency, from_json

__all__ = ["check_continued", "migrate"]

_BAD = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, ParameterError, NoResultFound)
"""What reading a row raises that discreet did not write."""
_COLUMNS_1 = "seq, kind, reservation, plan_hash, loss, spent, payload_sha256, at, previous, hash"


def migrate(database: Database, seal: Seal) -> None:
    """Bring an older format up to this one, in one transaction; raises `LedgerError` for one that nobody wrote."""
    with database.transaction(write=False) as connection:
        if format_of(connection, database.where) == FORMAT:
            return
    with database.transaction(write=True) as connection:
        number = format_of(connection, database.where)
        if number == FORMAT:
            return
        if number not in _STEPS:
            raise LedgerError(f"{database.where} has format {number}, which no version wrote; restore a copy of it")
        try:
            while number < FORMAT:
                number = _STEPS[number](connection, database.where, seal)
            connection.execute(sa.update(meta).values(format=FORMAT))
            kind_of(connection).mark(connection, FORMAT)
        except _BAD:
            raise LedgerError(
                f"{database.where} is of format {number} and damaged, and was left as it is; restore a copy of it"
            ) from None


def check_continued(connection: sa.Connection, continued: Continued, where: str) -> None:
    """Follow the hashes of the table that a ledger continues; raises `LedgerError` at the first bad row."""
    last, count = ROOT, 0
    names = [name.strip() for name in _COLUMNS_1.split(",")]
    rows = connection.exec_driver_sql(f"SELECT {_COLUMNS_1}, payload FROM entries_1 ORDER BY seq")  # noqa: S608
    for *values, payload in rows:
        row: dict[str, Any] = dict(zip(names, values, strict=True))
        previous, own = row.pop("previous"), row.pop("hash")
        try:
            computed = sha256(bytes.fromhex(last) + canonical(row).encode("ascii"))
            stored = None if payload is None else sha256(payload)
        except _BAD:
            computed = stored = ""
        if (previous, own, row["seq"], row["payload_sha256"]) != (last, computed, count, stored):
            raise LedgerError(f"{where} cannot be trusted: entry {count} of its older format is bad")
        last, count = computed, count + 1
    if (last, count) != (continued.head, continued.entries):
        raise LedgerError(f"{where} cannot be trusted: the entries of its older format do not end where it recorded")


def _from_1(connection: sa.Connection, where: str, seal: Seal) -> int:
    first, last = (
        connection.exec_driver_sql(f"SELECT {_COLUMNS_1} FROM entries ORDER BY seq {way} LIMIT 1").one()  # noqa: S608
        for way in ("ASC", "DESC")
    )
    known = connection.exec_driver_sql("SELECT last FROM meta").one().last
    if known != last.seq:
        raise LedgerError(f"{where} cannot be trusted: its newest entries were removed; restore a copy of it")
    budget, spent = _loss(first.loss), _loss(last.spent)
    for statement in (
        "DROP TRIGGER entries_no_update",
        "DROP TRIGGER entries_no_delete",
        "DROP INDEX ix_entries_plan_hash",
        "ALTER TABLE entries RENAME TO entries_1",
        "DROP TABLE meta",
    ):
        connection.exec_driver_sql(statement)
    kind_of(connection).append_only(connection, "entries_1")
    facts = replace(Facts(currency(budget)), continued=Continued(1, last.seq + 1, last.hash, spent))
    begin(budget, facts, seal)(connection)
    check_continued(connection, Continued(1, last.seq + 1, last.hash, spent), where)
    return FORMAT


def _from_2(connection: sa.Connection, where: str, _: Seal) -> int:
    last, highest = connection.exec_driver_sql("SELECT meta.last, (SELECT MAX(seq) FROM entries) FROM meta").one()
    if last != highest:
        raise LedgerError(f"{where} cannot be trusted: its newest entries were removed; restore a copy of it")
    for column in ("totals", "salt"):
        connection.exec_driver_sql(f"ALTER TABLE entries ADD COLUMN {column} TEXT")
    repeats.create(connection)
    new_salt_key(connection)
    return 3


def _from_3(connection: sa.Connection, where: str, _: Seal) -> int:  # noqa: ARG001 - as the others
    connection.exec_driver_sql(f"DROP INDEX IF EXISTS {rare_kinds.name}")  # the first ledgers of format 2 have none
    rare_kinds.create(connection)
    runs.create(connection)
    return 4


def _loss(text: str) -> Loss:
    return from_json(json.loads(text))


_STEPS: dict[int, Callable[[sa.Connection, str, Seal], int]] = {1: _from_1, 2: _from_2, 3: _from_3}
"""Format n -> what brings it further, and returns how far."""
