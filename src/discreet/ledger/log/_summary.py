"""Summaries of a long ledger: its newest entries, the number of each kind, and budgets over time.

Nothing here reads more than it shows, so that a million entries cost no more than a thousand.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from discreet.ledger._protocol import Entry
from discreet.ledger.log._chain import check, entry, state_in, subject_time
from discreet.ledger.log._commitments import Row
from discreet.ledger.log._rows import is_release
from discreet.ledger.log._schema import entries, in_runs, rare, row_columns
from discreet.ledger.log._store import LedgerStore
from discreet.ledger.state._account import OWNER_ACCOUNT, Account

__all__ = ["kinds", "latest", "moments"]

_CHUNK = 400

_of_account = sa.select(
    entries.c.seq, (sa.func.row_number().over(order_by=entries.c.seq) - 1).label("place")
).where(entries.c.account == sa.bindparam("account")).subquery()  # fmt: skip


def latest(store: LedgerStore, count: int, account: str | None = None) -> list[Entry]:
    """The newest entries, of one account if one is named, newest first, each checked against its own hash."""
    wanted = sa.select(*row_columns).order_by(entries.c.seq.desc()).limit(count)
    if account is not None:
        wanted = wanted.where(entries.c.account == account)
    with store.database.transaction(write=False) as connection:
        rows = [check(values, store.where) for values in connection.execute(wanted)]
    return [entry(store.facts, row, store.where, own=account is not None) for row in rows]


def kinds(store: LedgerStore, account: str | None = None) -> dict[str, int]:
    """How many entries there are of each kind, as the table says: nothing is checked.

    Counted by indexes: all, the rare kinds, steps, and releases; what is left are charges.
    """
    mine = [] if account is None else [entries.c.account == account]
    number = sa.select(sa.func.count()).select_from(entries).where(*mine)
    with store.database.transaction(write=False) as connection:
        rest = connection.execute(
            sa.select(entries.c.kind, sa.func.count()).where(rare, *mine).group_by(entries.c.kind)
        )
        counts = {str(kind): int(count) for kind, count in rest}
        steps = sa.select(entries.c.kind, sa.func.count()).where(in_runs, entries.c.kind != "run", *mine)
        counts |= {str(kind): int(count) for kind, count in connection.execute(steps.group_by(entries.c.kind))}
        counts["release"] = int(connection.execute(number.where(is_release)).scalar() or 0)
        counts["reserve"] = int(connection.execute(number).scalar() or 0) - sum(counts.values())
    return {kind: count for kind, count in counts.items() if count}


def moments(store: LedgerStore, count: int, account: str = OWNER_ACCOUNT) -> list[tuple[datetime, Account]]:
    """The states of the whole, or of an account, after at most `count` entries spread evenly over the ledger, and now.

    Those of an account are spread over its own entries, and tell nothing of how many there are of others. Each entry is
    found by its number and checked against its own hash. Empty for an account that there is not.
    """
    known: list[tuple[datetime, Account]] = []
    with store.reading(account) as page:
        connection = page.connection
        everything = account == OWNER_ACCOUNT
        wanted = _spread(count, page.last.seq) if everything else _spread_own(connection, account, count)
        rows = _of_numbers(connection, sorted(wanted), store.where)
        now = page.account_now
    for row in rows:
        state = state_in(store.facts, row, store.where)
        state = state.total if account == OWNER_ACCOUNT else state.account
        if state is not None:
            at = datetime.fromisoformat(row.at) if account == OWNER_ACCOUNT else subject_time(row, store.where)
            known.append((at, state))
    latest_state = page.state.total if account == OWNER_ACCOUNT else page.state.account
    return known if latest_state is None else [*known, (now, latest_state.at(now))]


def _spread(count: int, last: int) -> set[int]:
    steps = max(min(count, last + 1) - 1, 1)
    return {round(step * last / steps) for step in range(steps + 1)}


def _spread_own(connection: sa.Connection, account: str, count: int) -> set[int]:
    """The numbers in the ledger of an account's own entries, spread evenly over those."""
    known = {"account": account}
    length = connection.execute(sa.select(sa.func.count()).select_from(_of_account), known).scalar() or 0
    places = sorted(_spread(count, length - 1)) if length else []
    numbers: set[int] = set()
    for begin in range(0, len(places), _CHUNK):
        wanted = sa.select(_of_account.c.seq).where(_of_account.c.place.in_(places[begin : begin + _CHUNK]))
        numbers.update(connection.execute(wanted, known).scalars())
    return numbers


def _of_numbers(connection: sa.Connection, numbers: list[int], where: str) -> list[Row]:
    rows: list[Row] = []
    for begin in range(0, len(numbers), _CHUNK):
        wanted = sa.select(*row_columns).where(entries.c.seq.in_(numbers[begin : begin + _CHUNK]))
        rows += [check(values, where) for values in connection.execute(wanted.order_by(entries.c.seq))]
    return rows
