"""The hash chain: what a row is, how it is hashed, and what makes a sequence of rows a ledger.

    hash = SHA-256( previous hash, 32 bytes  ||  canonical JSON of the row )

The canonical JSON holds every column as it is stored, except `payload` (its SHA-256 is a column of its own),
`previous` and `hash`; keys are sorted, there are no spaces, and other than ASCII is escaped. The first row's previous
hash is zero.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._filter import add, nothing, within
from discreet.ledger._protocol import Entry, Kind
from discreet.privacy import Loss, currency, from_json, to_json

__all__ = ["ROOT", "Row", "check", "entry", "loss_in", "row_after", "sha256", "walk"]

ROOT = "00" * 32


class Row(NamedTuple):
    """One row of the table `entries`, without its payload, as stored."""

    seq: int
    kind: str
    reservation: str | None
    plan_hash: str | None
    loss: str
    spent: str
    payload_sha256: str | None
    at: str
    previous: str
    hash: str


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def row_after(  # noqa: PLR0913
    last: Row | None,
    kind: Kind,
    *,
    reservation: str | None,
    plan_hash: str | None,
    loss: Loss,
    spent: Loss,
    payload: bytes | None,
) -> Row:
    """The row that continues the chain after `last`; None starts a chain."""
    row = Row(
        seq=0 if last is None else last.seq + 1,
        kind=kind,
        reservation=reservation,
        plan_hash=plan_hash,
        loss=_canonical(to_json(loss)),
        spent=_canonical(to_json(spent)),
        payload_sha256=None if payload is None else sha256(payload),
        at=datetime.now(UTC).isoformat(timespec="microseconds"),
        previous=ROOT if last is None else last.hash,
        hash="",
    )
    return row._replace(hash=_hash(row))


def check(values: Sequence[object], where: str) -> Row:
    """The row that the database returned; raises `LedgerError` if it does not match its own hash."""
    if not _has_row_types(values):
        raise _broken(where, values[0], "it has a column of a type that discreet does not write")
    row = Row(*cast("tuple[int, str, str, str, str, str, str, str, str, str]", tuple(values)))
    if not _same(row.hash, row):
        raise _broken(where, row.seq, "it does not match its own hash")
    return row


def entry(row: Row, where: str) -> Entry:
    """A checked row as people see it."""
    try:
        return Entry(
            seq=row.seq,
            kind=cast("Kind", row.kind),
            reservation=row.hash if row.kind == "reserve" else row.reservation,
            plan_hash=row.plan_hash,
            loss=loss_in(row.loss),
            spent=loss_in(row.spent),
            at=datetime.fromisoformat(row.at),
            payload_sha256=row.payload_sha256,
            previous=row.previous,
            hash=row.hash,
        )
    except (ValueError, ParameterError):
        raise _broken(where, row.seq, "it holds something that discreet does not write") from None


def loss_in(text: str) -> Loss:
    """A loss column; raises `ValueError` or `ParameterError`."""
    return from_json(json.loads(text))


def walk(rows: Iterable[tuple[Sequence[object], object]], where: str) -> Iterator[Row]:
    """Yield each row of a whole ledger with its payload checked, and raise `LedgerError` at the first bad one.

    Checked are the chain, the payloads, the totals (each `spent` is the one before plus the charge, never above the
    budget), and the story: one creation, then reservations, each followed by at most one release of the same plan.
    """
    last: Row | None = None
    waiting: dict[str | None, Row] = {}
    budget = spent = nothing("pure")
    for values, payload in rows:
        row = check(values, where)
        this = entry(row, where)
        if row.seq != (0 if last is None else last.seq + 1):
            raise _broken(where, 0 if last is None else last.seq + 1, "it is missing")
        if row.previous != (ROOT if last is None else last.hash):
            raise _broken(where, row.seq, "it does not continue the entry before it")
        if (None if payload is None else sha256(payload) if isinstance(payload, bytes) else "") != row.payload_sha256:
            raise _broken(where, row.seq, "its payload is not the one that was stored")
        match row.kind:
            case "create" if last is None and row.reservation is None:
                budget = this.loss
                spent = nothing(currency(budget))
            case "reserve" if last is not None and row.reservation is None:
                spent = add(spent, this.loss)
                waiting[row.hash] = row
            case "release" if row.reservation in waiting:
                reserved = waiting.pop(row.reservation)
                if (reserved.plan_hash, reserved.loss) != (row.plan_hash, row.loss):
                    raise _broken(where, row.seq, "it is a release of something other than what was reserved")
            case _:
                raise _broken(where, row.seq, f"a {row.kind!r} entry does not belong there")
        if this.spent != spent or not within(spent, budget):
            raise _broken(where, row.seq, "its total is wrong")
        last = row
        yield row


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _hash(row: Row) -> str:
    body = {name: value for name, value in row._asdict().items() if name not in ("previous", "hash")}
    return sha256(bytes.fromhex(row.previous) + _canonical(body).encode("ascii"))


def _same(found: str, row: Row) -> bool:
    try:
        return found == _hash(row)
    except ValueError:
        return False


def _has_row_types(values: Sequence[object]) -> bool:
    optional = {"reservation", "plan_hash", "payload_sha256"}
    return len(values) == len(Row._fields) and all(
        isinstance(value, int if name == "seq" else str) or (value is None and name in optional)
        for name, value in zip(Row._fields, values, strict=True)
    )


def _broken(where: str, seq: object, what: str) -> LedgerError:
    return LedgerError(
        f"{where} cannot be trusted: entry {seq} is bad: {what}. Stop releasing from these data, keep the file as it "
        "is, and compare it with a copy or with heads noted elsewhere before you go on"
    )
