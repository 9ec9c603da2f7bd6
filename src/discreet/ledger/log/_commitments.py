"""What a row of a ledger is, and its hash: a commitment that tells nothing of what others have spent.

    hash = SHA-256( SHA-256( salt 1 || own )  ||  SHA-256( salt 2 || place ) )

`own` is the canonical JSON of what the entry says of whom it is about. `place` is that of where it stands, the hash of
the entry before it among that, and of the totals that all share. Together they hold each column as it is stored, except
`payload` (its SHA-256 is a column of its own), `salt` and `hash`. Keys are sorted, there are no spaces, and other than
ASCII is escaped. The inner digests are 32 bytes, the halves of the salt 16; the first row's previous hash is zero.

An analyst is given hashes of their own entries, and the salt makes each a commitment: who knows all but what others
have spent cannot try that out against it. The ledger's owner can open it, `own` alone too (see `_openings`). Entries of
format 2 have no salt: SHA-256( previous hash || canonical JSON of all ). Source: ``proofs/accounts.md``, 7.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = [
    "ROOT",
    "Row",
    "canonical",
    "digests",
    "hash_of",
    "is_hashed",
    "own_columns",
    "parsed",
    "salt_after",
    "salted",
    "sha256",
]

ROOT = "00" * 32
"""What comes before the first row."""

_SALT_BYTES = 32


class Row(NamedTuple):
    """One row of the table `entries`, without its payload, as stored."""

    seq: int
    kind: str
    account: str
    idempotency_key: str | None
    reservation: str | None
    plan_hash: str | None
    body: str
    totals: str | None
    payload_sha256: str | None
    at: str
    salt: str | None
    previous: str
    hash: str


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode
"""The one JSON text of plain data."""


@lru_cache(64)
def parsed(text: str) -> Mapping[str, Any]:
    """The JSON of a row, not to be changed: the newest rows are read again and again."""
    return json.loads(text)


def salt_after(previous: str, key: bytes) -> str:
    """The salt of the row after `previous`: a pseudorandom function of a secret of the ledger and of that hash."""
    from discreet import noise

    return noise.derived_secret(key, bytes.fromhex(previous)).hex()


def own_columns(row: Row) -> dict[str, Any]:
    """What an entry says of whom it is about: nothing of others, nor of where it stands among their entries."""
    return {
        "kind": row.kind, "account": row.account, "idempotency_key": row.idempotency_key, "plan_hash": row.plan_hash,
        "reservation": row.reservation, "body": row.body, "payload_sha256": row.payload_sha256,
    }  # fmt: skip


def digests(row: Row) -> tuple[bytes, bytes]:
    """The salted digests of a row's own columns, and of its place and the totals; `ValueError` without a good salt."""
    salt = bytes.fromhex(row.salt or "")
    if len(salt) != _SALT_BYTES or (row.salt or "") != salt.hex() or row.totals is None:
        raise ValueError("salt")
    place = {"seq": row.seq, "previous": row.previous, "totals": row.totals, "at": row.at}
    half = _SALT_BYTES // 2
    return salted(salt[:half], own_columns(row)), salted(salt[half:], place)


def salted(salt: bytes, columns: Mapping[str, Any]) -> bytes:
    """The digest of columns, which tells nothing of them to who lacks the salt."""
    return hashlib.sha256(salt + canonical(columns).encode("ascii")).digest()


def hash_of(row: Row) -> str:
    """The hash of a row's other columns; raises `ValueError` for a row that discreet does not write."""
    if row.salt is not None:
        return sha256(b"".join(digests(row)))
    if row.totals is not None:
        raise ValueError("totals")
    body = {"seq": row.seq, "at": row.at, **own_columns(row)}
    return sha256(bytes.fromhex(row.previous) + canonical(body).encode("ascii"))


def is_hashed(row: Row) -> bool:
    """Whether a row has the hash of its other columns."""
    try:
        return row.hash == hash_of(row)
    except ValueError:
        return False
