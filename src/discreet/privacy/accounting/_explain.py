"""A loss in sentences."""

from __future__ import annotations

import math

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import as_approx, as_mu, as_pure, as_rho
from discreet.privacy.accounting._certify import epsilon
from discreet.privacy.curves._rounding import root_up, up
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._words import in_words
from discreet.rational import decimal_text

__all__ = ["explain"]

_RELATION = {
    "add_remove": "add/remove, one unit is present or absent",
    "substitute": "substitution, one unit has other data",
    None: "those that the sensitivity was computed for",
}


def explain(loss: Loss) -> str:
    """What a loss is, what it means, and for which neighbours.

    >>> from discreet.privacy import pure
    >>> print(pure(1).explain())
    Loss: epsilon 1.
    Neighbours: those that the sensitivity was computed for.
    Pure epsilon 1: every outcome is at most 2.718 times likelier with one unit's data than without.
    A belief of 1 % about one person can become at most 6.945 %, whatever else is known.
    """
    lines = [f"Loss: {in_words(loss)}.", f"Neighbours: {_RELATION[loss.relation]}."]
    eps = as_pure(loss)
    if eps is not None:
        high = loss.posterior(0.01)[1]
        ratio = math.exp(min(up(eps), 700.0))
        lines.append(
            f"Pure epsilon {decimal_text(eps)}: every outcome is at most {ratio:.4g} times likelier with one unit's "
            "data than without."
        )
        lines.append(f"A belief of 1 % about one person can become at most {100 * high:.4g} %, whatever else is known.")
        return "\n".join(lines)
    pair = as_approx(loss)
    if pair is not None:
        delta = decimal_text(pair[1])
        lines.append(
            f"By basic composition epsilon {decimal_text(pair[0])}, delta {delta}: "
            f"up to {delta}·n of n people are expected to be exposed outright."
        )
    lines.extend(_single_numbers(loss))
    for delta in ("1e-6", "1e-9"):
        certified = epsilon(loss, delta)
        if certified < float("inf"):
            lines.append(f"At delta {delta}: epsilon {certified:.4g}.")
    return "\n".join(lines)


def _single_numbers(loss: Loss) -> list[str]:
    sentences: list[str] = []
    mu = as_mu(loss)
    if mu is not None and as_approx(loss) is None:
        sentences.append(
            f"Distinguishing neighbours is as hard as distinguishing N(0,1) from N({up(root_up(mu[0])):.4g},1)."
        )
    try:
        rho, delta = as_rho(loss)
    except ParameterError:
        return sentences
    tail = f", off an event of probability {decimal_text(delta)}" if delta else ""
    sentences.append(f"Concentrated: rho {decimal_text(rho)}{tail}.")
    return sentences
