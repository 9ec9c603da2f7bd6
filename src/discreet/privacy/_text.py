"""Losses as JSON and as words."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy._loss import Approx, Loss, Pure, Rho, Sum, Times
from discreet.rational import decimal_text, rational

__all__ = ["from_json", "in_words", "to_json"]


def to_json(loss: Loss) -> dict[str, object]:
    """A node as plain JSON; numbers are exact text such as ``"1/10"``.

    >>> from discreet.privacy import pure
    >>> to_json(pure(0.1))
    {'kind': 'pure', 'epsilon': '1/10'}
    """
    match loss:
        case Pure(epsilon):
            return {"kind": "pure", "epsilon": str(epsilon)}
        case Approx(epsilon, delta):
            return {"kind": "approx", "epsilon": str(epsilon), "delta": str(delta)}
        case Rho(rho, delta):
            return {"kind": "rho", "rho": str(rho), "delta": str(delta)}
        case Sum(terms):
            return {"kind": "sum", "terms": [to_json(term) for term in terms]}
        case Times(count, term):
            return {"kind": "times", "count": count, "term": to_json(term)}
        case _:
            raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")


def from_json(data: object) -> Loss:
    """The inverse of `to_json`; raises `ParameterError` on anything else."""
    match data:
        case {"kind": "pure", "epsilon": str(epsilon)}:
            return Pure(_fraction(epsilon))
        case {"kind": "approx", "epsilon": str(epsilon), "delta": str(delta)}:
            return Approx(_fraction(epsilon), _fraction(delta))
        case {"kind": "rho", "rho": str(rho), "delta": str(delta)}:
            return Rho(_fraction(rho), _fraction(delta))
        case {"kind": "sum", "terms": list(terms)}:  # pyright: ignore[reportUnknownVariableType]
            return Sum(tuple(from_json(term) for term in terms))  # pyright: ignore[reportUnknownVariableType]
        case {"kind": "times", "count": int(count), "term": term}:
            return Times(count, from_json(term))
        case _:
            raise ParameterError("this is not a privacy loss written by discreet")


def in_words(loss: Loss) -> str:
    """One line for people.

    >>> from discreet.privacy import approx
    >>> in_words(approx(1, 1e-6))
    'epsilon 1, delta 1e-06'
    """
    match loss:
        case Pure(epsilon):
            return f"epsilon {decimal_text(epsilon)}"
        case Approx(epsilon, delta):
            return f"epsilon {decimal_text(epsilon)}, delta {decimal_text(delta)}"
        case Rho(rho, delta):
            tail = f", delta {decimal_text(delta)}" if delta else ""
            return f"rho {decimal_text(rho)}{tail}"
        case Sum(terms):
            return " + ".join(in_words(term) for term in terms)
        case Times(count, term):
            return f"{count} × ({in_words(term)})"
        case _:
            raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")


def _fraction(text: str) -> Fraction:
    value = rational(text, "a privacy loss")
    if value < 0:
        raise ParameterError("a privacy loss cannot be negative")
    return value
