"""Refusals as problems of HTTP (RFC 9457): each kind has its status and a stable type."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from fastapi import Response

from discreet.privacy import to_json
from discreet.server.desk import Kind, Refusal

__all__ = ["PROBLEM", "PROBLEM_RESPONSES", "STATUSES", "problem_of"]

PROBLEM = "application/problem+json"

STATUSES: dict[Kind, tuple[int, str]] = {
    "query": (422, "The query is not supported"),
    "parameter": (422, "An argument is out of its range"),
    "price": (402, "The answer costs more than it may"),
    "budget": (402, "The budget does not allow it"),
    "frozen": (403, "The account is stopped"),
    "role": (403, "This is for another role"),
    "key": (409, "The idempotency key belongs to another request"),
    "cancelled": (409, "The question was cancelled"),
    "missing-key": (428, "What costs needs an Idempotency-Key"),
    "rate": (429, "Too many requests"),
    "sign-in": (401, "Not signed in"),
    "unknown": (404, "There is no such thing"),
    "data": (503, "The source cannot be used now"),
    "ledger": (503, "The ledger cannot be used now"),
}

_TYPE = "https://discreet.invalid/problems/{}"
"""A name and no address (RFC 9457, 3.1.1); ``docs/server.md`` says what each means."""

_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "kind"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "kind": {"type": "string"},
        "price": {"type": "object"},
    },
}
PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": ", ".join(title for number, title in STATUSES.values() if number == status),
        "content": {PROBLEM: {"schema": _SCHEMA}},
    }
    for status in sorted({status for status, _ in STATUSES.values()} | {400, 405, 413})
}


def problem_of(refusal: Refusal, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request that was refused, with the status of its kind or another."""
    own, title = STATUSES[refusal.kind]
    status, headers = status or own, dict(headers or {})
    if refusal.kind == "sign-in":
        headers["WWW-Authenticate"] = 'Basic realm="discreet", charset="UTF-8", Bearer realm="discreet"'
    if refusal.wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(refusal.wait)))
    content: dict[str, Any] = {
        "type": _TYPE.format(refusal.kind),
        "title": title,
        "status": status,
        "detail": str(refusal),
        "kind": refusal.kind,
    }
    if refusal.price is not None:
        content["price"] = to_json(refusal.price)
    return Response(json.dumps(content), status, headers, PROBLEM)
