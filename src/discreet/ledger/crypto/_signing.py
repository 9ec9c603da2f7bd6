"""Signed statements: what a certificate's signature covers, and how it is made and checked.

    signature = Ed25519( "discreet certificate 1", a line feed, canonical JSON of the certificate without `signature` )

In canonical JSON keys are sorted, there are no spaces, and other than ASCII is escaped. Numbers are whole: what is not
is written as exact text, so that no two readers can disagree on what was signed. Source: RFC 8032.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from discreet.errors import LedgerError

__all__ = ["certified", "check_signature", "code_version", "fingerprint", "new_key", "public_key", "sign"]

_PREFIX = b"discreet certificate 1\n"
_ALGORITHM = "Ed25519"
_KEY = re.compile(r"[0-9a-f]{64}")
_VALUE = re.compile(r"[0-9a-f]{128}")
_ADDED = ("code", "ledger", "account", "position", "at", "signature")


@cache
def code_version() -> str:
    """The version of discreet that certificates name.

    Raises `LedgerError` where the package's metadata are missing, as in a folder of sources that was not installed.
    """
    try:
        return version("discreet")
    except PackageNotFoundError:
        raise LedgerError(
            "the version of discreet is not known, which every certificate names: install the package, for example "
            "with pip install -e ."
        ) from None


def new_key() -> bytes:
    """A private key: 32 unpredictable bytes. Who has it can sign whatever they like.

    >>> len(new_key())
    32
    """
    from discreet import noise

    return noise.secret(32)


def public_key(private: bytes) -> str:
    """The public key of a private one, in hexadecimal; raises `LedgerError` unless that has 32 bytes.

    >>> public_key(bytes(32))[:8]
    '3b6a27bc'
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()
    except (ValueError, TypeError):
        raise LedgerError("a private key has 32 bytes; restore the ledger's secrets from a copy") from None


def fingerprint(public: str) -> str:
    """A public key in a form that two people can read to one another: 80 bits of its SHA-256.

    >>> fingerprint(public_key(bytes(32)))
    '9f9a-4f07-6435-12b1-1e30'
    """
    digest = hashlib.sha256(public.encode("ascii", "replace")).hexdigest()
    return "-".join(digest[i : i + 4] for i in range(0, 20, 4))


def certified(  # noqa: PLR0913
    statement: Mapping[str, Any],
    *,
    private: bytes,
    code: str,
    ledger: str,
    account: str | None,
    position: str,
    at: datetime,
) -> dict[str, Any]:
    """The signed certificate of a release: what it says of itself, and where the ledger charged it.

    Parameters
    ----------
    statement
        What ran, in plain JSON without floats.
    private
        The ledger's private key.
    code
        The version of discreet that ran it.
    ledger
        The hash of the ledger's first entry, which tells ledgers apart.
    account
        The account that was charged, None for the whole budget.
    position
        The hash of the entry that reserved the charge. It tells nothing of other entries to who has only it.
    at
        When the charge was made.

    Costs no privacy: everything in it is public. Raises `LedgerError` for a statement that cannot be signed.

    >>> found = certified({"query": "SELECT 1"}, private=bytes(32), code="1.0", ledger="00" * 32, account=None,
    ...                   position="11" * 32, at=datetime(2026, 1, 31, tzinfo=UTC))
    >>> found["at"], check_signature(found) == public_key(bytes(32))
    ('2026-01-31T00:00:00+00:00', True)
    """
    taken = [name for name in _ADDED if name in statement]
    if taken:
        raise LedgerError(f"a statement cannot have {taken[0]!r}, which the ledger adds; give it another name")
    if at.tzinfo is None:
        raise LedgerError("the time of a certificate needs a time zone, as datetime.now(UTC) has")
    added = {
        "code": code,
        "ledger": ledger,
        "account": account,
        "position": position,
        "at": at.astimezone(UTC).isoformat(),
    }
    return sign({**statement, **added}, private)


def sign(statement: Mapping[str, Any], private: bytes) -> dict[str, Any]:
    """The statement with its `signature`; raises `LedgerError` if it has one, or is not plain JSON without floats.

    >>> check_signature(sign({"loss": "1/10"}, bytes(32)))[:8]
    '3b6a27bc'
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if "signature" in statement:
        raise LedgerError("this statement is signed already; sign what it states, without its signature")
    public, message = public_key(private), _message(statement)
    value = Ed25519PrivateKey.from_private_bytes(private).sign(message).hex()
    return {**statement, "signature": {"algorithm": _ALGORITHM, "public_key": public, "value": value}}


def check_signature(certificate: object, public_key: str | None = None) -> str:
    """The public key that signed a certificate, in hexadecimal, once its signature is known to be good.

    Given a `public_key`, it must be that one. Without one a good signature says only that nobody who lacks the private
    key of the public key within has changed the certificate: not whose key it is.

    Costs nothing. Raises `LedgerError` for a certificate without a signature, one that was changed after it was signed,
    and one that another key signed.

    >>> check_signature({**sign({"loss": "1/10"}, bytes(32)), "loss": "1/20"})
    Traceback (most recent call last):
    discreet.errors.LedgerError: the signature does not fit: the certificate was changed after it was signed; ask ...
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not isinstance(certificate, Mapping):
        raise LedgerError("a certificate is a JSON object, and this is none; give the file of a release")
    known = cast("Mapping[str, Any]", certificate)
    signed_by, value = _signature(known)
    if public_key is not None and _given(public_key) != signed_by:
        raise LedgerError(
            f"the certificate was signed by the key {fingerprint(signed_by)}, and you expect "
            f"{fingerprint(_given(public_key))}: it is from another ledger, or forged"
        )
    message = _message({name: each for name, each in known.items() if name != "signature"})
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed_by)).verify(value, message)
    except (InvalidSignature, ValueError):
        raise LedgerError(
            "the signature does not fit: the certificate was changed after it was signed; ask for the release as the "
            "ledger stores it"
        ) from None
    return signed_by


def _signature(certificate: Mapping[str, Any]) -> tuple[str, bytes]:
    match certificate.get("signature"):
        case None:
            raise LedgerError("the certificate has no signature, so anybody may have written it")
        case {"algorithm": str(algorithm), "public_key": str(key), "value": str(value), **rest} if not rest:
            if algorithm != _ALGORITHM:
                raise LedgerError(f"the signature is by {algorithm!r}, and this version checks {_ALGORITHM} alone")
            if _KEY.fullmatch(key) and _VALUE.fullmatch(value):
                return key, bytes.fromhex(value)
        case _:
            pass
    raise LedgerError("the certificate's signature is malformed: it is not one that discreet wrote")


def _given(public: str) -> str:
    key = public.strip().lower()
    if not _KEY.fullmatch(key):
        raise LedgerError("a public key is 64 hexadecimal digits, as `discreet verify` prints it for a release")
    return key


def _message(statement: Mapping[str, Any]) -> bytes:
    try:
        _check_plain(statement)
        text = json.dumps(dict(statement), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "a certificate is plain JSON: objects with text for names, lists, text, whole numbers, true, false and "
            "null, not nested deeply; other numbers are written as text"
        ) from None
    return _PREFIX + text.encode("ascii")


def _check_plain(value: object) -> None:
    """Raise `TypeError` unless JSON has exactly one way to write it."""
    match value:
        case None | bool() | int() | str():
            return
        case Mapping():
            for name, each in cast("Mapping[object, object]", value).items():
                if not isinstance(name, str):
                    raise TypeError
                _check_plain(each)
        case list() | tuple():
            for each in cast("list[object]", value):
                _check_plain(each)
        case _:
            raise TypeError
