"""From a plan to its release: an engine's exact sums, noise over them, a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet import noise
from discreet.policy import Policy
from discreet.query._bounded import BoundedAggregate, Group
from discreet.query._certificate import certificate_of
from discreet.query._draw import draw
from discreet.query._levels import Level
from discreet.query._plan import Plan
from discreet.query._release import Release
from discreet.query._suggest_plan import SuggestionPlan
from discreet.query._suggestion import Suggestion

__all__ = ["draw_release", "draw_suggestion"]

Run = Callable[[BoundedAggregate, bytes], list[Group]]
"""`Engine.run`."""
Certify = Callable[[Mapping[str, Any]], dict[str, Any]]


def draw_release(plan: Plan, policy: Policy, run: Run, certify: Certify) -> Release:
    """Answer a plan that has a spend. Costs its loss, which is charged before; raises what `run` and `certify` do."""
    assert plan.loss is not None
    salt = noise.secret(16)
    noisy = [_noisy(level, run, salt) for level in plan.levels]
    biases = [_noisy(each.plan.levels[0], run, salt) for each in plan.bias]
    answer = plan.finish(noisy)
    statement = certificate_of(plan, plan.hash(policy), policy, answer, biases)
    return Release(answer, plan.loss, certify(statement))


def draw_suggestion(plan: SuggestionPlan, policy: Policy, run: Run, certify: Certify) -> Suggestion:
    """Make a suggestion. Costs the plan's loss, which is charged before; raises what `run` and `certify` do."""
    salt = noise.secret(16)
    suggestion = plan.finish([_noisy(level, run, salt) for level in plan.levels], policy)
    return replace(suggestion, certificate=certify(suggestion.certificate))


def _noisy(level: Level, run: Run, salt: bytes) -> list[Group]:
    assert level.noise is not None
    return draw(run(level.bounded, salt), level.bounded, level.noise)
