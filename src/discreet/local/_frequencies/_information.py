"""What a randomized answer tells, in bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Information", "information_of"]


@dataclass(frozen=True, slots=True)
class Information:
    """The answer Y of a person whose truth X is yes with the prior probability: what it tells about X on average.

    Attributes
    ----------
    before
        H(X): what is not known of X before the answer.
    after
        H(X | Y): what is not known of X after it, on average; never more than `before`.
    told
        I(X; Y) = H(X) − H(X | Y): what the answer tells. An average: for the worst case over all priors and answers see
        the loss.
    if_yes, if_no
        The probability that X is yes, after the answer yes and after the answer no.
    """

    before: float
    after: float
    told: float
    if_yes: float
    if_no: float


def information_of(prior: float, p: float) -> Information:
    """Of Warner's question with truth probability `p`, for a prior strictly between 0 and 1.

    H(X | Y) = H(X) + H(Y | X) − H(Y), with H(Y | X) = h(p) and P(Y = yes) = prior·p + (1 − prior)(1 − p).
    Source: Cover and Thomas 2006, Theorem 2.4.1.
    """
    yes = prior * p + (1 - prior) * (1 - p)
    before, noise, answer = _entropy(prior), _entropy(p), _entropy(yes)
    told = max(answer - noise, 0.0)
    return Information(before, max(before - told, 0.0), told, prior * p / yes, prior * (1 - p) / (1 - yes))


def _entropy(p: float) -> float:
    return -sum(each * math.log2(each) for each in (p, 1 - p) if each > 0)
