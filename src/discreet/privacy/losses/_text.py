"""Losses as JSON and as words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss, Sum, Times
from discreet.privacy.losses._combinators import Group, Parallel, Sampled, Shuffled, Substituted
from discreet.privacy.losses._leaves import (
    Approx,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mu,
    NonAdaptive,
    Pure,
    RandomizedResponse,
    Rdp,
    Rho,
    Tradeoff,
)
from discreet.rational import decimal_text, rational

__all__ = ["from_json", "in_words", "to_json"]

_FLAT: dict[str, tuple[type[Loss], tuple[str, ...]]] = {
    "pure": (Pure, ("epsilon",)),
    "approx": (Approx, ("epsilon", "delta")),
    "rho": (Rho, ("rho", "delta")),
    "mu": (Mu, ("mu_squared", "delta")),
    "gaussian": (Gaussian, ("noise",)),
    "laplace": (Laplace, ("scale",)),
    "discrete_laplace": (DiscreteLaplace, ("scale", "sensitivity")),
    "discrete_gaussian": (DiscreteGaussian, ("sigma", "sensitivity")),
    "randomized_response": (RandomizedResponse, ("p", "k")),
    "bounded_range": (BoundedRange, ("epsilon",)),
    "nonadaptive": (NonAdaptive, ("count", "epsilon")),
    "sampled": (Sampled, ("rate", "scheme", "term")),
    "shuffled": (Shuffled, ("n", "term")),
    "group": (Group, ("k", "term")),
    "substituted": (Substituted, ("term",)),
    "times": (Times, ("count", "term")),
    "sum": (Sum, ("terms",)),
    "parallel": (Parallel, ("terms", "relation")),
    "rdp": (Rdp, ("orders", "values")),
    "tradeoff": (Tradeoff, ("points",)),
}
"""The name of each node in JSON and of its fields, in the order of the node's own."""

_KIND_OF = {node: (kind, names) for kind, (node, names) in _FLAT.items()}


def to_json(loss: Loss) -> dict[str, object]:
    """A node as plain JSON; numbers are exact text such as ``"1/10"``.

    >>> from discreet.privacy import pure
    >>> to_json(pure(0.1))
    {'kind': 'pure', 'epsilon': '1/10'}
    """
    if type(loss) not in _KIND_OF:
        raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")
    kind, names = _KIND_OF[type(loss)]
    values = (getattr(loss, name) for name in type(loss).__match_args__)  # pyright: ignore[reportAttributeAccessIssue]
    return {"kind": kind, **{name: _written(value) for name, value in zip(names, values, strict=False)}}


def _written(value: object) -> object:
    match value:
        case Loss():
            return to_json(value)
        case Fraction():
            return str(value)
        case tuple():
            return [_written(each) for each in cast("tuple[object, ...]", value)]
        case _:
            return value


def from_json(data: object) -> Loss:
    """The inverse of `to_json`; raises `ParameterError` on anything else."""
    try:
        return _node(data)
    except RecursionError:
        raise ParameterError("this privacy loss is nested too deeply to be read") from None


def _node(data: object) -> Loss:
    if not isinstance(data, dict):
        raise _foreign()
    fields = cast("dict[object, object]", data)
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in _FLAT or set(fields) != {"kind", *_FLAT[kind][1]}:
        raise _foreign()
    node, names = _FLAT[kind]
    loss = node(*(_READERS[name](fields[name]) for name in names))
    _ = loss.relation  # refuses a sample of a loss that is valid for other neighbours
    return loss


def _foreign() -> ParameterError:
    return ParameterError("this is not a privacy loss written by discreet")


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str):
        raise _foreign()
    return rational(text, "a privacy loss")


def _as_is(value: object) -> object:
    return value  # the node checks it


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _foreign()
    return cast("list[object]", value)


def _fractions(value: object) -> tuple[Fraction, ...]:
    return tuple(_fraction(each) for each in _list(value))


_READERS: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(
        ("epsilon", "delta", "rho", "mu_squared", "noise", "scale", "sigma", "p", "rate"),
        cast("Callable[[object], object]", _fraction),
    ),
    **dict.fromkeys(("sensitivity", "k", "n", "count", "scheme", "relation"), _as_is),
    "term": _node,
    "terms": lambda value: tuple(_node(each) for each in _list(value)),
    "orders": _fractions,
    "values": _fractions,
    "points": lambda value: tuple(_fractions(each) for each in _list(value)),
}


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
        case Pure(epsilon):
            return f"epsilon {n(epsilon)}"
        case Approx(epsilon, delta):
            return f"epsilon {n(epsilon)}, delta {n(delta)}"
        case Rho(rho, delta):
            return f"rho {n(rho)}{_tail(delta)}"
        case Mu(squared, delta):
            return f"mu {float(squared) ** 0.5:.6g}{_tail(delta)}"
        case Rdp(orders, values):
            return f"Renyi divergence {n(values[0])} at order {n(orders[0])} to {n(values[-1])} at {n(orders[-1])}"
        case Gaussian(noise):
            return f"Gaussian noise {n(noise)}"
        case Laplace(scale):
            return f"Laplace noise {n(scale)}"
        case DiscreteLaplace(scale, sensitivity):
            return f"discrete Laplace noise {n(scale)}, sensitivity {sensitivity}"
        case DiscreteGaussian(sigma, sensitivity):
            return f"discrete Gaussian noise {n(sigma)}, sensitivity {sensitivity}"
        case RandomizedResponse(p, k):
            return f"the true one of {k} answers with probability {n(p)}"
        case BoundedRange(epsilon):
            return f"bounded range {n(epsilon)}"
        case NonAdaptive(count, epsilon):
            return f"{count} times bounded range {n(epsilon)}, fixed in advance"
        case Tradeoff(points):
            return f"a trade-off function with {len(points)} corners"
        case _:
            return _combined(loss)


def _combined(loss: Loss) -> str:
    match loss:
        case Sum(terms):
            return " + ".join(in_words(term) for term in terms)
        case Times(count, term):
            return f"{count} × ({in_words(term)})"
        case Sampled(rate, scheme, term):
            sample = "a Poisson sample" if scheme == "poisson" else "a sample without replacement"
            return f"{_inner(term)}, on {sample} of {decimal_text(rate)}"
        case Shuffled(n, term):
            return f"{n} shuffled reports of ({in_words(term)})"
        case Group(k, term):
            return f"({in_words(term)}) for a group of {k}"
        case Substituted(term):
            return f"({in_words(term)}) under substitution"
        case Parallel(terms, relation):
            parts = "; ".join(in_words(term) for term in terms)
            return f"on disjoint parts, {relation}: ({parts})"
        case _:
            raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")


def _inner(term: Loss) -> str:
    return f"({in_words(term)})" if isinstance(term, Sum | Times) else in_words(term)


def _tail(delta: Fraction) -> str:
    return f", delta {decimal_text(delta)}" if delta else ""
