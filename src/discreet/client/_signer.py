"""The key that signs a ledger's certificates, pinned or trusted on first use, and releases that are checked by it."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import check_signature, fingerprint, verify_release
from discreet.release import BaseRelease, kind_of, parse_release_file

__all__ = ["Signer", "read_release"]

_R = TypeVar("_R", bound=BaseRelease)
_KEY = re.compile(r"[0-9a-f]{64}")
_FINGERPRINT = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){4}")
_UNREADABLE = "the server's answer is no release that can be read: damaged, or of a later version"


class Signer:
    """The one key that may sign. Without a key or fingerprint given, the first that is seen is it from then on.

    Raises `ParameterError` for what is neither.
    """

    def __init__(self, given: str | None = None) -> None:
        text = None if given is None else given.strip().lower()
        if text is not None and not (_KEY.fullmatch(text) or _FINGERPRINT.fullmatch(text)):
            raise ParameterError(
                "key is the ledger's public key, 64 hexadecimal digits, or its fingerprint, as 0123-4567-89ab-cdef-0123"
            )
        self._given = text
        self.public_key = text if text is not None and _KEY.fullmatch(text) else None

    def accept(self, public_key: str) -> None:
        """Take a key as the ledger's. Raises `LedgerError` if it is not the one that is expected."""
        expected = self.public_key or self._given
        if expected is None or expected in (public_key, fingerprint(public_key)):
            self.public_key = public_key
            return
        shown = fingerprint(expected) if _KEY.fullmatch(expected) else expected
        raise LedgerError(
            f"the server's key is {fingerprint(public_key)}, and {shown} is expected: it is another ledger, or "
            "somebody between; ask the owner of the data"
        )

    def check(self, payload: bytes) -> None:
        """Check all of a release that can be: signature, signer, values and loss. Raises `LedgerError`."""
        file = parse_release_file(payload)
        self.accept(check_signature(file.certificate))
        for check in verify_release(file, self.public_key):
            if check.result == "bad":
                raise LedgerError(f"the release is not what the ledger signed: {check.meaning}")


def read_release(payload: bytes, expected: type[_R], signer: Signer | None) -> _R:
    """A release from its stored bytes, checked unless it is a rehearsal, which nobody signs. Raises `LedgerError`."""
    if signer is not None:
        signer.check(payload)
    certificate: Any = parse_release_file(payload).certificate
    try:
        release = kind_of(certificate).read(payload)
    except Exception:  # noqa: BLE001 - whatever a stranger's bytes raise
        raise LedgerError(_UNREADABLE) from None
    if not isinstance(release, expected):
        raise LedgerError("the server's answer is a release of another kind than was asked for")
    return release
