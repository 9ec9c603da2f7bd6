"""A loss in sentences."""

from __future__ import annotations

import math

from discreet.errors import ParameterError
from discreet.privacy.accounting._certify import epsilon
from discreet.privacy.accounting._currencies import as_approx, as_mu, as_pure, as_rho
from discreet.privacy.curves._rounding import root_up, up
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._words import in_words
from discreet.rational import decimal_text

__all__ = ["explain"]

_RELATION = {
    "add_remove": "one unit being there or not",
    "substitute": "one unit having other data",
    None: "neighbours as its sensitivity was worked out for",
}


def explain(loss: Loss) -> str:
    """What a loss is, what it means, and for which neighbours.

    >>> from discreet.privacy import pure
    >>> print(pure(1).explain())
    Loss: epsilon 1.
    Neighbours: neighbours as its sensitivity was worked out for.
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
        lines.append(
            f"By basic composition epsilon {decimal_text(pair[0])} but for a delta of {decimal_text(pair[1])}: "
            f"of n people about {decimal_text(pair[1])}·n may be exposed outright."
        )
    lines.extend(_single_numbers(loss))
    for delta in ("1e-6", "1e-9"):
        found = epsilon(loss, delta)
        if found < float("inf"):
            lines.append(f"At delta {delta}: epsilon {found:.4g}.")
    return "\n".join(lines)


def _single_numbers(loss: Loss) -> list[str]:
    found: list[str] = []
    mu = as_mu(loss)
    if mu is not None and as_approx(loss) is None:
        found.append(f"Telling neighbours apart is as hard as telling N(0,1) from N({up(root_up(mu[0])):.4g},1).")
    try:
        rho, delta = as_rho(loss)
    except ParameterError:
        return found
    tail = f", off an event of probability {decimal_text(delta)}" if delta else ""
    found.append(f"Concentrated: rho {decimal_text(rho)}{tail}.")
    return found
