"""Reading and appending rows, inside a transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from discreet.errors import LedgerError
from discreet.ledger.log._chain import Untrusted, check
from discreet.ledger.log._commitments import Row
from discreet.ledger.log._database import Database
from discreet.ledger.log._schema import FORMAT, entries, in_runs, kind_of, meta, row_columns

__all__ = [
    "Tip",
    "account_after",
    "append",
    "first",
    "is_release",
    "newest_of_account",
    "newest_of_each",
    "newest_of_plan",
    "newest_step",
    "of_hash",
    "of_key",
    "of_reservation",
    "pages",
    "payload_of",
    "releases_after",
    "repeats_of",
    "run_of",
    "tip",
]

_PAGE_ROWS, _PAGE_BYTES = 100, 2**24

_raw_payload = sa.type_coerce(entries.c.payload, sa.types.NullType()).label("payload")
_no_payload = sa.null().label("payload")


class Tip(NamedTuple):
    """The newest entry, the newest about an account, its newest release of a plan, and the time."""

    last: Row
    account: Row | None
    release: Row | None
    clock: datetime


def _newest(*conditions: Any) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.max(entries.c.seq)).where(*conditions).scalar_subquery()


is_release = entries.c.kind == sa.literal_column("'release'")
"""Written out: the index of releases by plan is of these alone, which a planner must be able to see."""

_account = entries.c.account == sa.bindparam("account")
_of_account = _newest(_account)
_of_plan = _newest(_account, entries.c.plan_hash == sa.bindparam("plan_hash"), is_release)
_highest = sa.select(sa.func.max(entries.c.seq)).scalar_subquery()

_TIP = sa.select(
    *row_columns,
    _highest.label("highest"),
    sa.select(sa.func.count()).select_from(meta).scalar_subquery().label("facts"),
    sa.select(sa.func.max(sa.type_coerce(meta.c.last, sa.types.NullType()))).scalar_subquery().label("last"),
    sa.select(sa.func.max(sa.type_coerce(meta.c.format, sa.types.NullType()))).scalar_subquery().label("format"),
).where(entries.c.seq.in_([sa.bindparam("seen"), _highest, _of_account, _of_plan]))

_SERVER_CLOCK = sa.func.timezone("UTC", sa.func.clock_timestamp()).label("clock")
_TIPS = {"sqlite": _TIP, "postgresql": _TIP.add_columns(_SERVER_CLOCK)}
"""A server tells its own time, which all its clients share, in the same breath."""

_name = entries.c.account
_names = sa.select(sa.func.min(_name).label("name")).where(_name != "").cte("names", recursive=True)
_names = _names.union_all(
    sa.select(sa.select(sa.func.min(_name)).where(_name > _names.c.name).scalar_subquery()).where(
        _names.c.name.is_not(None)
    )
)
_NEWEST_OF_EACH = (
    sa.select(*row_columns)
    .where(
        entries.c.seq.in_(
            sa.select(sa.select(sa.func.max(entries.c.seq)).where(_name == _names.c.name).scalar_subquery()).where(
                _names.c.name.is_not(None)
            )
        )
    )
    .order_by(_name)
)

_NEWEST_OF_ACCOUNT = sa.select(*row_columns).where(_account).order_by(entries.c.seq.desc()).limit(1)
_ACCOUNT_AFTER = sa.select(
    sa.func.coalesce(
        sa.select(sa.func.min(_name)).where(_name > sa.bindparam("after"), _name != "").scalar_subquery(),
        sa.select(sa.func.min(_name)).where(_name != "").scalar_subquery(),
    )
)

_REPEATS = (
    sa.select(sa.func.count())
    .select_from(entries)
    .where(
        entries.c.kind == sa.literal_column("'repeat'"),
        entries.c.plan_hash == sa.bindparam("plan_hash"),
        _account,
    )
)

_INSERT = sa.insert(entries)
_FORWARD = sa.update(meta).values(last=sa.bindparam("newest"))


def first(connection: sa.Connection, where: str) -> Row:
    """The entry that made the ledger."""
    row = connection.execute(sa.select(*row_columns).where(entries.c.seq == 0)).first()
    if row is None:
        raise LedgerError(f"{where} lacks its first entry; restore a copy of it")
    return check(row, where)


def tip(connection: sa.Connection, seen: Row, where: str, account: str = "", plan_hash: str | None = None) -> Tip:
    """Where the ledger ends. Raises `LedgerError` if it no longer holds `seen`, an entry that it held before."""
    wanted = {"seen": seen.seq, "account": account, "plan_hash": plan_hash}
    matches = connection.execute(_TIPS[connection.dialect.name], wanted).all()
    if not matches or matches[0].facts != 1 or matches[0].last != matches[0].highest:
        raise LedgerError(
            f"{where} cannot be trusted: its newest entries were removed, or others added, by something other than "
            "discreet; stop releasing from these data and restore a copy, counting what was spent since"
        )
    if matches[0].format != FORMAT:
        raise LedgerError(f"{where} now has format {matches[0].format}: upgrade discreet, and open it again")
    wide = len(Row._fields)
    rows = {
        row.seq: row for row in (seen if values[:wide] == seen else check(values[:wide], where) for values in matches)
    }
    if rows.get(seen.seq) != seen:
        raise Untrusted(
            f"{where} was replaced by an older copy or another ledger: entry {seen.seq} is not what it was; put back "
            "what was there, for charges that it held are missing from this one"
        )
    newest = [rows[seq] for seq in sorted(rows, reverse=True)]
    own = [row for row in newest if row.account == account]
    released = [row for row in own if (row.plan_hash, row.kind) == (plan_hash, "release")]
    clock: datetime | None = getattr(matches[0], "clock", None)
    return Tip(
        rows[matches[0].highest],
        own[0] if own else None,
        released[0] if released else None,
        kind_of(connection).clock(connection) if clock is None else clock.replace(tzinfo=UTC),
    )


def append(connection: sa.Connection, row: Row, payload: bytes | None = None) -> None:
    """Add an entry after the newest; a payload that is stored elsewhere is left out."""
    connection.execute(_INSERT, {**row._asdict(), "payload": payload})
    connection.execute(_FORWARD, {"newest": row.seq})


def payload_of(connection: sa.Connection, row: Row) -> object:
    """The bytes that a release stored, unchecked."""
    return connection.execute(sa.select(_raw_payload).where(entries.c.seq == row.seq)).scalar()


def of_hash(connection: sa.Connection, value: str, where: str) -> Row | None:
    """The entry with this hash, if there is one."""
    row = connection.execute(sa.select(*row_columns).where(entries.c.hash == value)).first()
    return None if row is None else check(row, where)


def of_reservation(connection: sa.Connection, ident: str, where: str) -> list[Row]:
    """The entries of one reservation: itself, and its release if there is one."""
    mine = sa.or_(entries.c.hash == ident, entries.c.reservation == ident)
    wanted = sa.select(*row_columns).where(mine).order_by(entries.c.seq)
    return [check(values, where) for values in connection.execute(wanted)]


def of_key(connection: sa.Connection, account: str, key: str, where: str) -> list[Row]:
    """The entries of the reservation that an account made with an idempotency key, if it made one."""
    position = connection.execute(
        sa.select(entries.c.hash).where(entries.c.account == account, entries.c.idempotency_key == key)
    ).scalar()
    return of_reservation(connection, position, where) if isinstance(position, str) else []


def repeats_of(connection: sa.Connection, account: str, plan_hash: str) -> int:
    """How many keys of requests an account has for answers to one plan that cost nothing."""
    return int(connection.execute(_REPEATS, {"account": account, "plan_hash": plan_hash}).scalar() or 0)


def run_of(connection: sa.Connection, account: str, plan_hash: str, where: str) -> Row | None:
    """The newest run of a plan that an account has, if it has one."""
    return _newest_in_runs(connection, where, "run", plan_hash, entries.c.account == account)


def newest_of_account(connection: sa.Connection, name: str, where: str) -> Row | None:
    """The newest entry about an account, by a query of its own."""
    values = connection.execute(_NEWEST_OF_ACCOUNT, {"account": name}).first()
    return None if values is None else check(values, where)


def account_after(connection: sa.Connection, name: str) -> str | None:
    """The account that comes after a name in the order of their names, the first after the last; None if none is."""
    after = connection.execute(_ACCOUNT_AFTER, {"after": name}).scalar()
    return after if isinstance(after, str) else None


def newest_of_plan(connection: sa.Connection, plan_hash: str, where: str) -> Row | None:
    """The newest release of a plan, of whichever account."""
    wanted = sa.select(*row_columns).where(entries.c.plan_hash == plan_hash, is_release)
    values = connection.execute(wanted.order_by(entries.c.seq.desc()).limit(1)).first()
    return None if values is None else check(values, where)


def releases_after(connection: sa.Connection, seq: int, count: int, where: str) -> list[Row]:
    """The first `count` releases that come after an entry, in order."""
    wanted = sa.select(*row_columns).where(entries.c.seq > seq, is_release).order_by(entries.c.seq).limit(count)
    return [check(values, where) for values in connection.execute(wanted)]


def newest_step(connection: sa.Connection, run: str, kind: Literal["begin", "step"], where: str) -> Row | None:
    """The newest entry of a run's that began steps, or that stored one."""
    return _newest_in_runs(connection, where, kind, run)


def _newest_in_runs(connection: sa.Connection, where: str, kind: str, plan_hash: str, *more: Any) -> Row | None:
    wanted = sa.select(*row_columns).where(in_runs, entries.c.plan_hash == plan_hash, entries.c.kind == kind, *more)
    values = connection.execute(wanted.order_by(entries.c.seq.desc()).limit(1)).first()
    return None if values is None else check(values, where)


def newest_of_each(connection: sa.Connection, where: str) -> list[Row]:
    """The newest entry about each account, the whole left out, in the order of their names.

    From name to name by the index, so that it takes as long as there are accounts, not entries.
    """
    return [check(values, where) for values in connection.execute(_NEWEST_OF_EACH)]


def pages(
    database: Database, last: int, *, payloads: bool, after: int = -(2**63), account: str | None = None
) -> Iterator[tuple[Sequence[object], object]]:
    """All rows up to number `last`, unchecked, in short transactions of their own so that writers need not wait."""
    columns = (*row_columns, _raw_payload if payloads else _no_payload)
    while after < last:
        page: list[tuple[Sequence[object], object]] = []
        size = 0
        wanted = sa.select(*columns).where(entries.c.seq > after, entries.c.seq <= last).order_by(entries.c.seq)
        if account is not None:
            wanted = wanted.where(entries.c.account == account)
        with database.transaction(write=False) as connection:
            for row in connection.execute(wanted.limit(_PAGE_ROWS)):
                page.append((row[:-1], row[-1]))
                size += len(row[-1]) if isinstance(row[-1], bytes) else 0
                if size > _PAGE_BYTES:
                    break
        if not page:
            return
        yield from page
        after = int(str(page[-1][0][0]))
