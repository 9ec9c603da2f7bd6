"""Auditing from one run: guess which canaries went in, and bound how many guesses can be right under the claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit.black_box._claim import doubt_of, stated_point
from discreet.audit.one_run_audit._bound import epsilon_shown, mu_shown, orders_for, p_value, p_value_of_mu
from discreet.audit.one_run_audit._verdict import Guesses, OneRunVerdict
from discreet.errors import ParameterError
from discreet.noise import permutation
from discreet.privacy import ApproxLoss, Loss, PureLoss, as_approx, as_mu
from discreet.rational import Number

__all__ = ["one_run"]

_MOST_CANARIES = 10**6
_MOST_RULES = 100
_LEAST_USUAL = 25
_ORDERS = 24

_Rule = tuple[int, int]


def one_run(  # noqa: PLR0913 (all but three by keyword)
    scores: ArrayLike,
    included: ArrayLike,
    claim: Loss,
    *,
    delta: Number | None = None,
    confidence: Number = 0.95,
    guesses: int | tuple[int, int] | list[int | tuple[int, int]] | None = None,
) -> OneRunVerdict:
    """Hold one run of a procedure to its claim, by how well its output tells which of m canaries went in.

    Each canary went in if its own fair coin said so, independently of everything else; see `Canaries`. From the scores
    it is guessed that the highest went in and the lowest did not. The claim limits how many guesses can be right,
    whatever the procedure: for a procedure that keeps its claim the verdict says ``violated`` with probability at most
    1 − confidence, and `epsilon_lower` and `mu_lower`, each by itself, are too great with at most that probability.
    Costs no privacy if the records are made up: the verdict itself depends on all of them.

    Parameters
    ----------
    scores
        One number for each canary, higher if it seems to have gone in. They may be worked out from anything that the
        run gave away (the model, every iterate, every gradient), but not from the coins. Ties are broken at random.
    included
        The coins: true where the canary went in. Or, for a claim under substitution, where it went in rather than its
        stand-in.
    claim
        The loss of the whole run that is claimed for adding or removing one canary (or for replacing it). Of a loss
        that is more than one (ε, δ), the whole privacy curve is held against the run.
    delta
        The δ at which ε is stated. Left out, it is the δ of the claim, or 1e-6 for losses that have no ε at 0.
    confidence
        1 − the probability of a false alarm.
    guesses
        How many guesses to make: r (half of them the highest scores, half the lowest), a pair (inside, outside), or a
        list of these. The error probability is split evenly among the list, so it must be written down before the
        scores are seen. Left out: all canaries, a third of them, a tenth, a thirtieth and so on, down to 25 guesses.

    Raises `ParameterError` for scores and coins that do not match or are not a number and a truth value each, for more
    than a million canaries, for guesses that are more than the canaries, and for a claim that is no loss.
    Source: Steinke, Nasr and Jagielski 2023, Theorem 5.1 and its game; the exact term for δ and the bound for curves:
    ``proofs/auditing_one_run.md``.

    >>> from discreet.privacy import pure
    >>> included = np.arange(1000) % 3 == 0
    >>> verdict = one_run(scores=included * 1.0, included=included, claim=pure(1), guesses=600)
    >>> verdict.violated, round(verdict.epsilon_lower, 2)
    (True, 5.3)
    """
    exactly, claimed = stated_point(claim, delta)
    at = float(exactly)
    doubt = doubt_of(confidence)
    ranked = _ranked(scores, included)
    seen = tuple(_guessed(ranked, rule) for rule in _rules(guesses, ranked.size))
    alarm, m = doubt / len(seen), ranked.size
    each_p = _p_values(claim, (at, claimed), seen, m)
    best = min(range(len(seen)), key=each_p.__getitem__)
    p = min(each_p[best] * len(seen), 1.0)
    return OneRunVerdict(
        claim=claim,
        delta=at,
        claimed=claimed,
        epsilon_lower=max(epsilon_shown(each.correct, each.count, m, at, alarm) for each in seen),
        mu_lower=max(mu_shown(each.correct, each.count, m, alarm) for each in seen),
        p_value=p,
        violated=each_p[best] < alarm,
        guesses=seen,
        best=seen[best],
        canaries=m,
        confidence=1 - doubt,
    )


def _p_values(claim: Loss, stated: tuple[float, float], seen: Sequence[Guesses], canaries: int) -> list[float]:
    """The p-value of each rule alone: the least over points (δ, ε) of the claim's curve, each of which bounds it."""
    pair = as_approx(claim)
    points = [stated] if pair is None else [stated, (float(pair[1]), float(pair[0]))]
    is_curve = not isinstance(claim, PureLoss | ApproxLoss)
    gaussian = as_mu(claim) if is_curve else None
    mu = math.sqrt(gaussian[0]) if gaussian is not None and not gaussian[1] else None
    if is_curve and mu is None:
        top = max(orders_for(each.correct, each.count) for each in seen)
        points += [(claim.delta(eps), eps) for eps in np.linspace(0.0, min(stated[1], top), _ORDERS).tolist()]
    deltas, eps = np.array([each for each in points if math.isfinite(each[1])]).reshape(-1, 2).T
    p_values: list[float] = []
    for each in seen:
        bounds = p_value(each.correct, each.count, canaries, eps, deltas)
        by_mu = 1.0 if mu is None else float(p_value_of_mu(each.correct, each.count, canaries, mu * (1 + 1e-12)))
        p_values.append(min(float(bounds.min(initial=1.0)), by_mu))
    return p_values


def _ranked(scores: ArrayLike, included: ArrayLike) -> NDArray[np.bool_]:
    """The coins, by increasing score."""
    try:
        numbers = np.asarray(scores)
    except ValueError:
        numbers = np.array("ragged")
    if numbers.dtype.kind not in "biuf":
        raise ParameterError("scores must be real numbers, one for each canary")
    coins = np.asarray(included)
    if coins.dtype != np.bool_ or coins.ndim != 1 or numbers.shape != coins.shape:
        raise ParameterError(
            "scores and included must be one-dimensional and of one length, and included must be true or false: pass "
            "what Canaries.flip returned"
        )
    if not 1 <= coins.size <= _MOST_CANARIES:
        raise ParameterError(f"there must be 1 to {_MOST_CANARIES:,} canaries, got {coins.size:,}")
    if bool(np.isnan(numbers).any()):
        raise ParameterError("a score is not a number (NaN): give every canary a number, for every model")
    # A random order first: an order that knows the coins would otherwise decide among equal scores.
    mixed = permutation(coins.size)
    return coins[mixed[np.argsort(numbers[mixed], kind="stable")]]


def _rules(guesses: int | tuple[int, int] | list[int | tuple[int, int]] | None, canaries: int) -> list[_Rule]:
    if guesses is None:
        sizes = [max(round(canaries / 10 ** (step / 2)), 1) for step in range(13)]
        return [_halves(size) for step, size in enumerate(sizes) if step == 0 or size >= _LEAST_USUAL]
    listed: list[Any] = guesses if isinstance(guesses, list) else [guesses]
    if not 1 <= len(listed) <= _MOST_RULES:
        raise ParameterError(f"guesses must be a number or a list of 1 to {_MOST_RULES}, got {len(listed)}")
    return [_rule(each, canaries) for each in listed]


def _rule(given: Any, canaries: int) -> _Rule:
    if _is_whole(given) and 1 <= given <= canaries:
        return _halves(int(given))
    if isinstance(given, tuple) and len(given) == 2 and all(_is_whole(each) and each >= 0 for each in given):
        inside, outside = given
        if 1 <= inside + outside <= canaries:
            return int(inside), int(outside)
    raise ParameterError(
        f"guesses are a whole number from 1 to the number of canaries, {canaries:,}, or a pair (inside, outside) with "
        f"such a sum, or a list of these, got {given!r}"
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _halves(count: int) -> _Rule:
    return count - count // 2, count // 2


def _guessed(ranked: NDArray[np.bool_], rule: _Rule) -> Guesses:
    inside, outside = rule
    right = int(ranked[ranked.size - inside :].sum()) + int((~ranked[:outside]).sum())
    return Guesses(inside, outside, right)
