"""Reading and appending rows, inside a transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from discreet.errors import LedgerError
from discreet.ledger._chain import Row, check, row_after
from discreet.ledger._filter import nothing
from discreet.ledger._protocol import Kind
from discreet.ledger._sqlite import Database
from discreet.ledger._table import FORMAT, entries, make, meta, row_columns
from discreet.privacy import Loss, currency

__all__ = ["append", "begin_ledger", "first", "newest_release", "of_reservation", "pages", "tip"]

_PAGE_ROWS, _PAGE_BYTES = 100, 2**24

_raw_payload = sa.type_coerce(entries.c.payload, sa.types.NullType()).label("payload")
_no_payload = sa.null().label("payload")


def begin_ledger(connection: sa.Connection, budget: Loss) -> None:
    """Make an empty database a ledger."""
    make(connection)
    name = currency(budget)
    about = {"currency": name, "format": FORMAT}
    payload = json.dumps(about, sort_keys=True).encode()
    row = row_after(None, "create", reservation=None, plan_hash=None, loss=budget, spent=nothing(name), payload=payload)
    connection.execute(sa.insert(entries).values(**row._asdict(), payload=payload))


def first(connection: sa.Connection, where: str) -> Row:
    """The entry that made the ledger."""
    found = connection.execute(sa.select(*row_columns).where(entries.c.seq == 0)).first()
    if found is None:
        raise LedgerError(f"{where} lacks its first entry; restore a copy of it")
    return check(found, where)


def tip(connection: sa.Connection, seen: Row, where: str) -> Row:
    """The newest entry. Raises `LedgerError` if the ledger no longer holds `seen`, an entry that it held before."""
    facts = connection.execute(sa.select(meta.c.format, meta.c.last)).all()
    highest = connection.execute(sa.select(sa.func.max(entries.c.seq))).scalar()
    if highest is None or len(facts) != 1 or facts[0].last != highest:
        raise LedgerError(
            f"{where} cannot be trusted: its newest entries were removed, or others added, by something other than "
            "discreet; stop releasing from these data and restore a copy, counting what was spent since"
        )
    if facts[0].format != FORMAT:
        raise LedgerError(f"{where} now has format {facts[0].format}: upgrade discreet, and open it again")
    wanted = sa.select(*row_columns).where(entries.c.seq.in_([seen.seq, highest]))
    rows = {row.seq: row for row in (check(values, where) for values in connection.execute(wanted))}
    if seen.seq not in rows or rows[seen.seq].hash != seen.hash:
        raise LedgerError(
            f"{where} has gone back in time or is another ledger: entry {seen.seq} is not what it was; put the file "
            "back that was there, for charges that it held are missing from this one"
        )
    return rows[highest]


def append(  # noqa: PLR0913
    connection: sa.Connection,
    last: Row,
    kind: Kind,
    *,
    reservation: str | None,
    plan_hash: str,
    loss: Loss,
    spent: Loss,
    payload: bytes | None = None,
) -> Row:
    """Add an entry after `last`, the newest."""
    row = row_after(
        last, kind, reservation=reservation, plan_hash=plan_hash, loss=loss, spent=spent, payload=payload
    )  # fmt: skip
    connection.execute(sa.insert(entries).values(**row._asdict(), payload=payload))
    connection.execute(sa.update(meta).values(last=row.seq))
    return row


def newest_release(connection: sa.Connection, plan_hash: str) -> tuple[Sequence[object], object] | None:
    """The unchecked row and payload of the newest release of a plan."""
    found = connection.execute(
        sa.select(*row_columns, _raw_payload)
        .where(entries.c.plan_hash == plan_hash, entries.c.kind == "release")
        .order_by(entries.c.seq.desc())
        .limit(1)
    ).first()
    return None if found is None else (found[:-1], found[-1])


def of_reservation(connection: sa.Connection, ident: str, where: str) -> list[Row]:
    """The entries of one reservation: itself, and its release if there is one."""
    mine = sa.or_(entries.c.hash == ident, entries.c.reservation == ident)
    wanted = sa.select(*row_columns).where(mine).order_by(entries.c.seq)
    return [check(values, where) for values in connection.execute(wanted)]


def pages(database: Database, last: int, *, payloads: bool) -> Iterator[tuple[Sequence[object], object]]:
    """All rows up to number `last`, unchecked, in short transactions of their own so that writers need not wait."""
    after = -(2**63)
    columns = (*row_columns, _raw_payload if payloads else _no_payload)
    while after < last:
        page: list[tuple[Sequence[object], object]] = []
        size = 0
        wanted = sa.select(*columns).where(entries.c.seq > after, entries.c.seq <= last).order_by(entries.c.seq)
        with database.transaction(write=False) as connection:
            for found in connection.execute(wanted.limit(_PAGE_ROWS)):
                page.append((found[:-1], found[-1]))
                size += len(found[-1]) if isinstance(found[-1], bytes) else 0
                if size > _PAGE_BYTES:
                    break
        if not page:
            return
        yield from page
        after = int(str(page[-1][0][0]))
