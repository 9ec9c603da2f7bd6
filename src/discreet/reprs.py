"""The `repr` of values as a person would write them: the call that makes an equal value, with short exact numbers."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from dataclasses import MISSING, fields
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from inspect import isroutine, signature
from typing import Any

from discreet.errors import printable

__all__ = ["call_repr", "number_repr", "shortened", "source_repr"]

_SHORT_INT = 10**16
_LONGEST = 80
_MOST_BITS = 13_000
"""Of numerator and denominator together: what has more is longer than the text that is read as a number."""
_DECIMAL = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def number_repr(value: Fraction) -> str:
    """Python source of an exact number: an int, the float that prints as it, or text; `rational` reads all of them.

    >>> [number_repr(Fraction(text)) for text in ("10", "1.1", "1e-6", "1/3", "1e150")]
    ['10', '1.1', '1e-06', "'1/3'", '1e+150']
    """
    if value.denominator == 1 and abs(value) < _SHORT_INT:
        return str(value.numerator)
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        return f"Fraction({value.numerator:#x}, {value.denominator:#x})"
    with suppress(OverflowError):
        near = repr(float(value))
        if Fraction(near) == value:
            return near
    texts = [str(value)]
    with suppress(Inexact):
        texts.append(str(_DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))))
    return repr(min(texts, key=len))


def call_repr(self: Any, leave_out: Container[str] = ()) -> str:
    """The constructor call that makes a dataclass equal to this one, without arguments that are the default.

    A class takes it as its method: ``__repr__ = call_repr``.
    Each parameter of the constructor is read from the attribute of its name. Exact numbers are written by
    `number_repr`; in a field of type Any, which holds what was given, as fractions. A function is written as its name.
    Parameters named in `leave_out` are not written.
    """
    kinds = {each.name: str(each.type) for each in fields(self)}
    factories = {each.name: each.default_factory for each in fields(self) if each.default_factory is not MISSING}
    arguments = (
        f"{name}={source_repr(getattr(self, name), exact=kinds.get(name) != 'Any')}"
        for name, parameter in signature(type(self)).parameters.items()
        if name not in leave_out
        and not _is_same(getattr(self, name), factories[name]() if name in factories else parameter.default)
    )
    return f"{type(self).__name__}({', '.join(arguments)})"


def shortened(text: str) -> str:
    """A text of any length for one line of a `repr`: at most 80 characters, and none that cannot be printed.

    >>> shortened("visits" * 20)
    'visitsvisitsvisitsvisitsvisitsvisitsvisitsvisitsvisitsvisitsvisitsvisitsvisit...'
    """
    text = printable(text[: _LONGEST + 1])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def source_repr(value: Any, *, exact: bool = True) -> str:
    """Python source of a value, with short exact numbers unless `exact` is False.

    >>> source_repr((Fraction(1, 2), "x", len))
    "(0.5, 'x', len)"
    """
    match value:
        case Fraction() if exact:
            return number_repr(value)
        case tuple():
            items = [source_repr(each, exact=exact) for each in value]  # pyright: ignore[reportUnknownVariableType]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        case _ if isroutine(value):
            return value.__qualname__ if value.__module__ == "builtins" else f"{value.__module__}.{value.__qualname__}"
        case _:
            return repr(value)
