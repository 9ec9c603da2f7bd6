"""What an answer says in its cells and below its table, so that it is not taken for more than it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from math import isinf, isnan
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.query._certificate_levels import discovery_in
from discreet.query.budget._noise import NEARLY_ALWAYS
from discreet.query.results._words import AnswerWords

__all__ = ["ALL_NOISE", "cell_text", "footnotes"]

ALL_NOISE = "*"
"""Marks a number that is no larger than its half-width."""

_NULL = "NULL"


def cell_text(value: float | str | dt.date | None, half: float, tilde: str, rank: float | None) -> str:
    """A noisy number with its half-width; one that hangs on a quantile with how far its rank may be off, if known.
    Texts, dates and truth values have neither.

    >>> cell_text(1042, 6.0, "", None), cell_text(3, 6.0, "", None), cell_text(13.0, float("nan"), "", 16.0)
    ('1,042 ± 6', '3 ± 6*', '13 (rank ± 16 rows)')
    """
    if value is None:
        return _NULL
    if isnan(half) or isinstance(value, str | dt.date):  # a quantile: its error in this unit depends on the data
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        number = f"{value:,}" if is_integer else f"{value:,.6g}" if isinstance(value, float) else f"{value}"
        return number if rank is None else f"{number} (rank ± {rank:,.4g} rows)"
    if isinf(half):
        return f"{value:,.6g} ± {tilde}∞{ALL_NOISE}"
    mark = ALL_NOISE if 0 < abs(value) <= half or value == 0 < half else ""
    if isinstance(value, int):
        return f"{value:,} ± {tilde}{half:,.0f}{mark}"
    digits = 0 if half >= 100 else 2 if half >= 0.1 else 4
    return f"{value:,.{digits}f} ± {tilde}{half:,.{digits}f}{mark}"


def footnotes(certificate: Mapping[str, Any], words: AnswerWords, noisy: Sequence[Sequence[str]]) -> list[str]:
    """Lines for below the table, of whose columns with noise `noisy` has the texts."""
    texts = {text for column in noisy for text in column}
    lines = [
        *_missing_groups(certificate),
        *_cut(certificate),
        *(f"{name} is the {words.columns[name]}: the outermost value is one person's own" for name in words.outermost),
    ]
    if words.modes:
        lines.append(f"{', '.join(words.modes)}: {_picked(certificate)}")
    if _NULL in texts:
        window = ", or its window has no rows" if words.windows else ""
        lines.append(
            f"{_NULL}: noise left nothing to compute it from, as where a noisy count is not above zero{window}"
        )
    if any(text.endswith(ALL_NOISE) for text in texts):
        lines.append(f"{ALL_NOISE} no larger than its noise: it may be all noise")
    return lines


def _cut(certificate: Mapping[str, Any]) -> list[str]:
    """The cap that the query chose, and how many people have more rows than count."""
    cap = certificate.get("cap")
    if not isinstance(cap, Mapping):
        return []
    chosen = cast("Mapping[str, Any]", cap).get("chosen")
    return [f"of one person at most {chosen:,} rows count, as noisy counts of people by their rows called for"]


def _picked(certificate: Mapping[str, Any]) -> str:
    """How far the value of a mode may be from the most frequent one, in that mode where it is farthest."""
    try:
        draws = [draw for level in certificate["levels"] for draw in level["quantiles"] if "count_error" in draw]
        rows = max(float(draw["count_error"]["rows"]) for draw in draws)
    except (LookupError, TypeError, ValueError):
        return "picked with noise from public values"
    return f"picked with noise from public values; a more frequent one has at most {rows:,.4g} rows more (95 %)"


def _missing_groups(certificate: Mapping[str, Any]) -> list[str]:
    """From how many people on a group is as good as certain to be shown, in that grouping set where it is most."""
    levels = certificate.get("levels")
    if not isinstance(levels, list):
        return []
    try:
        discoveries = [discovery_in(each) for each in cast("list[Mapping[str, Any]]", levels)]
        least = [each.shown_from(NEARLY_ALWAYS) for each in discoveries if each is not None]
    except (LedgerError, ParameterError, LookupError, TypeError, ValueError, AttributeError):
        return [_SOME_MISSING]
    counted = "" if certificate.get("unit") == "rows" else ", counted after the caps on a person's rows and groups,"
    return [f"groups of fewer than {max(least):,} people{counted} may be missing"] if least else []


_SOME_MISSING = "groups of few people may be missing"
