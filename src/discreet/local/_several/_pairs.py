"""A person's pairs of key and number, as a text that is the same for equal pairs in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._domain import Domain
from discreet.local._layout import Integers
from discreet.local._numbers._bounded import shares_between

__all__ = ["Pairs", "pairs_as_texts", "texts_as_pairs"]

Pairs = tuple[Integers, Integers, NDArray[np.uint64]]
"""How many pairs each person has; then of all pairs the place of the key, and the number's threshold of 2**32."""

_SHIFT, _DIGITS = 33, 16


def pairs_as_texts(domain: Domain, low: Fraction, high: Fraction, values: Any) -> NDArray[Any]:
    """A text for each person: 16 hexadecimal digits a pair, in the order of the keys.

    `values` is one person's mapping of keys to numbers, or a list of people, each a mapping or a list of pairs. Raises
    `ParameterError` for what is neither, a key that is not in the domain or is there twice, and what is no number.
    """
    sizes, given, numbers = _people(values)
    keys = domain.places(given)
    shares = shares_between(low, high, numbers)
    codes = (keys.astype(np.uint64) << np.uint64(_SHIFT)) | np.rint(shares * 2.0**32).astype(np.uint64)
    person = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((codes, person))
    codes, sorted_keys = codes[order], keys[order]
    if bool(((np.diff(person) == 0) & (np.diff(sorted_keys) == 0)).any()):
        raise ParameterError("a person has one number for each key, and a key is there twice; take their mean before")
    digits, ends = codes.astype(">u8").tobytes().hex(), np.cumsum(sizes) * _DIGITS
    texts = np.empty(sizes.size, dtype=object)
    texts[:] = [digits[start:end] for start, end in zip((ends - sizes * _DIGITS).tolist(), ends.tolist(), strict=True)]
    return texts


def texts_as_pairs(texts: NDArray[Any]) -> Pairs:
    """What the texts say."""
    every: list[str] = texts.tolist()
    sizes = np.fromiter(map(len, every), dtype=np.int64, count=len(every)) // _DIGITS
    codes = np.frombuffer(bytes.fromhex("".join(every)), dtype=">u8").astype(np.uint64)
    return sizes, (codes >> np.uint64(_SHIFT)).astype(np.int64), codes & np.uint64((1 << _SHIFT) - 1)


def _people(values: Any) -> tuple[Integers, list[Any], list[Any]]:
    """How many pairs each person has, and all keys and numbers in a row."""
    many: Any = [values] if isinstance(values, Mapping) else values
    people: list[Any] = list(many) if isinstance(many, Sequence | np.ndarray) else [None]
    if all(isinstance(each, Mapping) for each in people):
        keys = list(chain.from_iterable(people))
        numbers = list(chain.from_iterable(each.values() for each in people))
    else:
        people = [list(each.items()) if isinstance(each, Mapping) else each for each in people]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if not all(isinstance(each, list | tuple) and all(map(_is_pair, each)) for each in people):
            raise ParameterError(
                "values must be one person's mapping of keys to numbers, or a list of people: of mappings, or of lists "
                "of pairs"
            )
        keys, numbers = ([pair[place] for each in people for pair in each] for place in (0, 1))
    sizes = np.fromiter(map(len, people), dtype=np.int64, count=len(people))
    if not int(sizes.sum()) == len(keys) == len(numbers):
        raise ParameterError("a mapping must have as many keys as its length says; make a dict of it")
    return sizes, keys, numbers


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list | tuple) and len(cast("Sequence[Any]", pair)) == 2
