"""Problems of the server (RFC 9457) as the errors that a local session raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from discreet.errors import (
    AccountStopped,
    BudgetExceeded,
    Cancelled,
    DataError,
    DiscreetError,
    KeyReused,
    LedgerError,
    ParameterError,
    QueryError,
    SignInRefused,
    printable,
)

__all__ = ["error_of"]

_ERRORS: Mapping[str, type[DiscreetError]] = {
    "query": QueryError,
    "parameter": ParameterError,
    "unknown": ParameterError,
    "missing-key": ParameterError,
    "budget": BudgetExceeded,
    "price": BudgetExceeded,
    "frozen": AccountStopped,
    "key": KeyReused,
    "sign-in": SignInRefused,
    "role": LedgerError,
    "ledger": LedgerError,
    "rate": DataError,
    "data": DataError,
    "cancelled": Cancelled,
}
_LONGEST = 2_000


def error_of(status: int, media_type: str, content: bytes) -> DiscreetError:
    """The error that an answer stands for which is no success.

    >>> error_of(402, "application/problem+json", b'{"kind": "budget", "detail": "too dear"}')
    BudgetExceeded('too dear')
    """
    if media_type.partition(";")[0].strip().lower() == "application/problem+json":
        try:
            problem: object = json.loads(content)
        except (ValueError, RecursionError):
            problem = None
        if isinstance(problem, dict):
            known = cast("dict[str, Any]", problem)
            kind, detail = known.get("kind"), known.get("detail")
            words = printable(detail)[:_LONGEST] if isinstance(detail, str) else f"refused with status {status}"
            fallback = ParameterError if 400 <= status < 500 else DataError
            return (_ERRORS.get(kind, fallback) if isinstance(kind, str) else fallback)(words)
    return DataError(f"the server answered with status {status} and no reason: is it a discreet server?")
