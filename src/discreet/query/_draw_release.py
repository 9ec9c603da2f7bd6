"""From the noisy groups of a plan to its release, with a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet import noise
from discreet.policy import Policy
from discreet.query._certificate import certificate_of
from discreet.query._plan import Plan
from discreet.query._release import Release
from discreet.query.budget._noise import Level
from discreet.query.measures._bounded import Group
from discreet.query.suggest._plan import SuggestionPlan
from discreet.query.suggest._suggestion import Suggestion

__all__ = ["draw_release", "draw_suggestion"]

Noisy = Callable[[Level, bytes], list[Group]]
"""The noisy groups of a level, from an engine that is given a secret salt."""
Certify = Callable[[Mapping[str, Any]], dict[str, Any]]


def draw_release(plan: Plan, policy: Policy, noisy: Noisy, certify: Certify) -> Release:
    """Answer a plan that has a spend. Costs its loss, which is charged before; raises what `noisy` and `certify` do."""
    assert plan.loss is not None
    salt = noise.secret(16)
    levels = [noisy(level, salt) for level in plan.levels]
    biases = [noisy(each.plan.levels[0], salt) for each in plan.bias]
    answer = plan.finish(levels)
    statement = certificate_of(plan, plan.hash(policy), policy, answer, biases)
    return Release(answer, plan.loss, certify(statement))


def draw_suggestion(plan: SuggestionPlan, policy: Policy, noisy: Noisy, certify: Certify) -> Suggestion:
    """Make a suggestion. Costs the plan's loss, which is charged before; raises what `noisy` and `certify` do."""
    salt = noise.secret(16)
    suggestion = plan.finish([noisy(level, salt) for level in plan.levels], policy)
    return replace(suggestion, certificate=certify(suggestion.certificate))
