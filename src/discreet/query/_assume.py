"""What a plan takes for granted about the data, from public guesses or from what was released before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.errors import ParameterError
from discreet.query._plan import Plan, assume_rows
from discreet.query._release import Release

__all__ = ["assuming"]


def assuming(plan: Plan, assume: Mapping[str, int] | Release | None) -> Plan:
    """The plan under an assumption: a public number of rows, or the values of an earlier release of its query.

    Raises `ParameterError` for anything else, and for a release of another query or under other bounds.
    """
    if not isinstance(assume, Release):
        return replace(plan, rows=assume_rows(assume))
    if assume.certificate.get("shape") != plan.shape:
        raise ParameterError(
            "assume takes an earlier release of the same query under the same bounds; this one answers "
            f"{assume.certificate.get('query')!r}"
        )
    return replace(plan, before=assume.answer)
