"""A stranger's file of a release of any kind, read without trusting any of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss
from discreet.release._base import BaseRelease
from discreet.release._content import Content, parse_content
from discreet.release._digest import check_finite
from discreet.release._files import read_file
from discreet.release._kinds import kind_of

__all__ = ["ReleaseFile", "load", "parse_release_file", "recompute_loss", "verify_loss"]

_UNREADABLE = (
    "this is not a release that can be read: damaged, cut off, or something else; give a file by `--save`, the bytes "
    "of a release, or what `discreet query --format json` prints"
)
_BESIDE = ("loss", "certificate")
_MALFORMED = (
    *(pa.ArrowException, OSError, MemoryError, RecursionError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, ParameterError),
)


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """What a file states: the kind of release, its certificate, and its loss, in plain JSON.

    `digests` are recomputed from what else is in the file, under their names in a certificate; `bare` says that there
    is nothing else, but a certificate alone. `left_out` is what the file shows and no digest covers.
    """

    kind: str
    certificate: Mapping[str, Any]
    loss: object
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: str | None = None
    bare: bool = False


def parse_release_file(payload: bytes) -> ReleaseFile:
    """What a file holds: the bytes or the JSON of a release of any kind, or a certificate alone.

    The certificate says which kind it is, and the file must hold what that kind does. No value is trusted, and no code
    is loaded but that of an installed package which brings the kind that is named. Costs nothing. Raises `LedgerError`
    for whatever else it is.
    """
    try:
        fields, columns = parse_content(payload)
        if "signature" in fields and "certificate" not in fields:
            check_finite(fields)
            return ReleaseFile(str(fields.get("kind")), fields, fields.get("loss"), bare=True)
        certificate, loss = fields["certificate"], fields["loss"]
        content = Content({name: value for name, value in fields.items() if name not in _BESIDE}, columns)
        if not isinstance(certificate, dict):
            raise TypeError
        check_finite(certificate)
    except _MALFORMED:
        raise LedgerError(_UNREADABLE) from None
    kind = kind_of(certificate)
    try:
        digests, left_out = kind.digests(content)
    except _MALFORMED:
        raise LedgerError(
            f"the file does not hold what its certificate is of, a release of the kind {kind.name!r}: it was changed, "
            "or is damaged"
        ) from None
    return ReleaseFile(kind.name, certificate, loss, digests, left_out)


def load(path: str | os.PathLike[str]) -> BaseRelease:
    """The release of any kind in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no release of a known kind.
    """
    payload = read_file(path)
    try:
        fields, _ = parse_content(payload)
        certificate: Mapping[str, Any] = dict(fields["certificate"])
    except _MALFORMED:
        raise LedgerError(_UNREADABLE) from None
    kind = kind_of(certificate)
    try:
        return kind.read(payload)
    except (*_MALFORMED, LedgerError):
        raise LedgerError(
            f"this is not a file by `save` of a release of the kind {kind.name!r}: it was changed, or is damaged, or "
            "is its JSON, which `discreet verify` takes and nothing reads back"
        ) from None


def recompute_loss(certificate: Mapping[str, Any]) -> Loss:
    """The loss that follows from the mechanisms of a certificate, by the algebra that made it; nothing else is asked.

    Costs nothing. Raises `LedgerError` for a certificate that cannot be read or contradicts itself, and for one of a
    mechanism that does not ship with discreet, whose loss only its author knows.
    """
    return kind_of(certificate).recompute_loss(certificate)


def verify_loss(certificate: Mapping[str, Any]) -> str | None:
    """None if the stated loss follows from the mechanisms, and else why that cannot be known.

    The latter is so where a mechanism does not ship with discreet. Costs nothing. Raises `LedgerError`, which names the
    part, where the mechanisms lose more than is stated, and for a certificate that cannot be read or contradicts
    itself.
    """
    return kind_of(certificate).verify_loss(certificate)
