"""The opening of an entry's hash: what the entry says of whom it is about, and proof that the hash was of that.

An analyst has the hashes of their own entries, in certificates and reservations: salted commitments (`_chain`). The
ledger's owner and its auditors can open one to whoever has it. An opening tells nothing of other entries, nor of what
all have spent: of the part of the entry that holds those it has a digest, salted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.ledger._commitments import Row, digests, own_columns, salted, sha256

__all__ = ["check_opening", "opening_of"]

_NAMES = ("entry", "hash", "place", "salt")


def opening_of(row: Row, where: str) -> dict[str, Any]:
    """The opening of a checked row, as plain JSON; raises `LedgerError` for an entry of format 2."""
    if row.salt is None:
        raise LedgerError(
            f"{where}: this entry is of an older format, whose hashes cannot be opened without telling of others; "
            "`discreet ledger export` has it for the owner and for auditors"
        )
    place = digests(row)[1].hex()
    return {"hash": row.hash, "salt": row.salt[: len(row.salt) // 2], "place": place, "entry": own_columns(row)}


def check_opening(opening: object, position: str) -> Mapping[str, Any]:
    """What the entry says whose hash is `position`, as a certificate holds it, if the opening proves it.

    The result has `kind`, `account`, `plan_hash`, `payload_sha256`, `reservation`, `idempotency_key` and, as JSON text,
    the `body`: the event, and the account after it. That the entry is in the ledger's chain is for those to check who
    may read all of it: `discreet ledger check --anchor`.

    Costs nothing. Raises `LedgerError` for an opening of something else, or none.

    >>> from discreet.ledger import open_ledger
    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     ada = ledger.open_account("ada", ledger.grant("ada", pure(1)))
    ...     position = ada.reserve("plan-1", pure(0.25)).id
    ...     entry = check_opening(ledger.opening(position), position)
    >>> entry["kind"], entry["account"], entry["plan_hash"]
    ('reserve', 'ada', 'plan-1')
    """
    match opening:
        case {"entry": dict() as entry, "hash": str(), "place": str(place), "salt": str(salt), **rest} if not rest:
            columns = cast("dict[str, Any]", entry)
            if _hash(columns, salt, place) == position:
                return columns
        case _:
            raise LedgerError(
                f"an opening is a JSON object with {', '.join(_NAMES)}; `discreet ledger prove` prints it"
            )
    raise LedgerError("the opening is not of this position: it is of another entry, or was changed")


def _hash(columns: Mapping[str, Any], salt: str, place: str) -> str | None:
    try:
        return sha256(salted(bytes.fromhex(salt), columns) + bytes.fromhex(place))
    except (TypeError, ValueError, RecursionError):
        return None
