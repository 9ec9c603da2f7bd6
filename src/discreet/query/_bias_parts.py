"""Estimates of bias: the questions that a plan asks beside its own, and their answers in a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.query.measures._bounded import Group

if TYPE_CHECKING:
    from discreet.query._plan import Plan

__all__ = ["Bias", "BiasPart", "BiasPlan", "bias_lines", "bias_to_json"]


@dataclass(frozen=True, slots=True)
class Bias:
    """Something that the bounds or caps of a query did to its rows, all groups together.

    `what` says what was counted or summed, `estimate` how many or how much, within ± `error` with probability 0.95.
    `at_least` says that the true amount may be more, since its tail is cut off at a public limit.
    """

    what: str
    estimate: float
    error: float
    at_least: bool


@dataclass(frozen=True, slots=True)
class BiasPart:
    """One estimate: what it is of, and which columns of the result it may have moved."""

    columns: tuple[str, ...]
    what: str
    at_least: bool


@dataclass(frozen=True, slots=True)
class BiasPlan:
    """A plan without keys whose columns ``b0``, ``b1``, … are the estimates."""

    plan: Plan
    parts: tuple[BiasPart, ...]


def bias_lines(asked: Sequence[BiasPlan], level: float) -> list[str]:
    """What a plan says of its estimates, a line each."""
    lines: list[str] = []
    for each in asked:
        for i, part in enumerate(each.parts):
            half = None if each.plan.loss is None else each.plan.error(f"b{i}", level)
            known = "" if half is None else f" ± {half:.4g}"
            limit = ", a lower limit" if part.at_least else ""
            lines.append(f"{part.what}{known}{limit}; for {', '.join(part.columns)}")
    return lines


def bias_to_json(asked: Sequence[BiasPlan], noisy: Sequence[Sequence[Group]]) -> list[dict[str, Any]]:
    """The estimates from the noisy groups of each plan, as plain JSON: floats as text that says them exactly."""
    found: list[dict[str, Any]] = []
    for each, groups in zip(asked, noisy, strict=True):
        answer = each.plan.finish([groups])
        for i, part in enumerate(each.parts):
            found.append(
                {
                    "columns": list(part.columns),
                    "what": part.what,
                    "estimate": repr(float(answer.table.column(f"b{i}")[0].as_py())),
                    "error": repr(float(answer.error(f"b{i}")[0])),
                    "at_least": part.at_least,
                    "query": each.plan.sql,
                }
            )
    return found
