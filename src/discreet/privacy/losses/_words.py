"""Losses as one line for people."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.losses._base import (
    GroupLoss,
    Loss,
    ParallelLoss,
    SampledLoss,
    ShuffledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
)
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
    TradeoffLoss,
)
from discreet.rational import decimal_text

__all__ = ["in_words"]


def in_words(loss: Loss) -> str:
    """One line for people.

    >>> from discreet.privacy import approx, gaussian
    >>> in_words(approx(1, 1e-6))
    'epsilon 1, delta 1e-06'
    >>> in_words(1000 * gaussian(1.1).sampled(0.01))
    '1000 × (Gaussian noise 1.1, on a Poisson sample of 0.01)'
    """
    n = decimal_text
    match loss:
        case PureLoss(epsilon):
            return f"epsilon {n(epsilon)}"
        case ApproxLoss(epsilon, delta):
            return f"epsilon {n(epsilon)}, delta {n(delta)}"
        case RhoLoss(rho, delta):
            return f"rho {n(rho)}{_tail(delta)}"
        case MuLoss(squared, delta):
            return f"mu {float(squared) ** 0.5:.6g}{_tail(delta)}"
        case RdpLoss(orders, values):
            return f"Renyi divergence {n(values[0])} at order {n(orders[0])} to {n(values[-1])} at {n(orders[-1])}"
        case GaussianLoss(noise):
            return f"Gaussian noise {n(noise)}"
        case LaplaceLoss(scale):
            return f"Laplace noise {n(scale)}"
        case DiscreteLaplaceLoss(scale, sensitivity):
            return f"discrete Laplace noise {n(scale)}, sensitivity {sensitivity}"
        case DiscreteGaussianLoss(sigma, sensitivity):
            return f"discrete Gaussian noise {n(sigma)}, sensitivity {sensitivity}"
        case RandomizedResponseLoss(p, k):
            return f"the true one of {k} answers with probability {n(p)}"
        case BoundedRangeLoss(epsilon):
            return f"bounded range {n(epsilon)}"
        case NonAdaptiveLoss(count, epsilon):
            return f"{count} times bounded range {n(epsilon)}, fixed in advance"
        case TradeoffLoss(points):
            return f"a trade-off function with {len(points)} corners"
        case _:
            return _combined(loss)


def _combined(loss: Loss) -> str:
    match loss:
        case SumLoss(terms):
            return " + ".join(in_words(term) for term in terms)
        case TimesLoss(count, term):
            return f"{count} × ({in_words(term)})"
        case SampledLoss(rate, scheme, term):
            sample = "a Poisson sample" if scheme == "poisson" else "a sample without replacement"
            return f"{_inner(term)}, on {sample} of {decimal_text(rate)}"
        case ShuffledLoss(n, term):
            return f"{n} shuffled reports of ({in_words(term)})"
        case GroupLoss(k, term):
            return f"({in_words(term)}) for a group of {k}"
        case SubstitutedLoss(term):
            return f"({in_words(term)}) under substitution"
        case ParallelLoss(terms, relation):
            parts = "; ".join(in_words(term) for term in terms)
            return f"on disjoint parts, {relation}: ({parts})"
        case _:
            raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")


def _inner(term: Loss) -> str:
    return f"({in_words(term)})" if isinstance(term, SumLoss | TimesLoss) else in_words(term)


def _tail(delta: Fraction) -> str:
    return f", delta {decimal_text(delta)}" if delta else ""
