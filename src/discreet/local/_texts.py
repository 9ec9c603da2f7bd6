"""Texts that are reported, as texts and nothing more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.errors import ParameterError

__all__ = ["texts_of"]


def texts_of(values: Any) -> list[str]:
    """One text or many, each a `str` and of no class derived from it; raises `ParameterError` for what is no text.

    What a derived class would print, or equal, does not decide which draws a client remembers: its characters do.

    >>> texts_of("ant"), texts_of(["ant", "bee"])
    (['ant'], ['ant', 'bee'])
    """
    many: Iterable[Any] = (values,) if isinstance(values, str) else values
    try:
        texts: list[Any] = list(many)
    except TypeError:
        texts = [None]
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError("values must be texts, one or a list of them; write others as texts, such as str(42)")
    return [str.__str__(text) for text in texts]
