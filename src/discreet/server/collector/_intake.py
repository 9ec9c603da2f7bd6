"""Turn a request into a checked batch, which is all that is stored of it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.local import Reports, Scheme
from discreet.server.collector._http import JSON_BODY, Limits, Refused, Request
from discreet.server.collector._store import Batch

__all__ = ["batch_of", "check_head"]

_BINARY, _JSON = "application/octet-stream", "application/json"
_KEY = re.compile(r"[!-~]{16,200}")
_ROWS_AT_ONCE = 1 << 23


def check_head(request: Request, limits: Limits) -> None:
    """Refuse, before its body comes, what cannot be a batch."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "send the body without Content-Encoding: it is not supported, and reports do not compress")
    kind = _kind(request)
    if kind not in (_BINARY, _JSON):
        raise Refused(415, f"the Content-Type must be {_BINARY}, as bytes(reports), or {_JSON}, as reports.to_json()")
    if "content-length" not in request.headers:
        raise Refused(411, "send the body with its Content-Length")
    most = min(limits.body, JSON_BODY) if kind == _JSON else limits.body
    if request.length > most:
        raise Refused(413, f"a batch has at most {most} bytes in this form; send more and smaller ones")
    if not _KEY.fullmatch(_key(request)):
        raise Refused(
            400,
            "a batch needs the header Idempotency-Key: 16 to 200 visible characters, drawn at random for this batch, "
            "and the same again when the batch is sent again; the content cannot stand for it, as two senders may well "
            "have drawn the same reports",
        )


def batch_of(request: Request, body: bytes, scheme: Scheme[Any]) -> Batch:
    """The batch that a body holds, without the rows that no client could have sent. Raises `Refused`."""
    try:
        reports = Reports.from_json(body) if _kind(request) == _JSON else Reports.from_bytes(body)
    except DiscreetError as error:
        raise Refused(400, str(error)) from None
    if reports.fingerprint != scheme.fingerprint:
        raise Refused(
            409,
            f"this batch is of scheme {reports.fingerprint.hex()}, and scheme {scheme.fingerprint.hex()} is collected "
            "here: GET /scheme is its document",
        )
    valid = _genuine(scheme, reports)
    return Batch(_digest(_key(request).encode()), _digest(body), valid, len(reports) - len(valid))


def _genuine(scheme: Scheme[Any], reports: Reports) -> Reports:
    if not len(reports) or reports.width != scheme.layout.width:
        return Reports(reports.fingerprint, np.zeros((0, scheme.layout.width), dtype=np.uint8))
    step = max(1, _ROWS_AT_ONCE // reports.width)
    valid = [_valid_rows(scheme, reports.rows[at : at + step]) for at in range(0, len(reports), step)]
    return Reports(reports.fingerprint, valid[0] if len(valid) == 1 else np.concatenate(valid))


def _valid_rows(scheme: Scheme[Any], rows: Any) -> Any:
    try:
        _, which = scheme.parse_valid(rows)
    except Exception:  # noqa: BLE001 (a report on which the protocol raises is invalid)
        if len(rows) == 1:
            return rows[:0]
        half = len(rows) // 2
        return np.concatenate((_valid_rows(scheme, rows[:half]), _valid_rows(scheme, rows[half:])))
    return rows if bool(which.all()) else rows[which]


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _key(request: Request) -> str:
    """The key; a sender may put it in quotes, as the draft of the header does."""
    text = request.headers.get("idempotency-key", "")
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]
