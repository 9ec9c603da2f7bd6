"""A person's pairs of key and number, as a text that is the same for equal pairs in any order."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
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
    people = _people(values)
    sizes = np.fromiter(map(len, people), dtype=np.int64, count=len(people))
    flat = [pair for pairs in people for pair in pairs]
    keys = domain.places([key for key, _ in flat])
    if keys.size != len(flat):
        raise ParameterError("each pair has one key")
    shares = shares_between(low, high, [number for _, number in flat])
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


def _people(values: Any) -> list[list[tuple[Any, Any]]]:
    many: Any = [values] if isinstance(values, Mapping) else values
    people: list[list[tuple[Any, Any]]] = []
    if isinstance(many, list | tuple | np.ndarray):
        for each in list(many):
            pairs: Any = list(each.items()) if isinstance(each, Mapping) else each  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            if not isinstance(pairs, list | tuple) or not all(_is_pair(pair) for pair in cast("list[Any]", pairs)):
                break
            people.append(cast("list[tuple[Any, Any]]", pairs))
        else:
            return people
    raise ParameterError(
        "values must be one person's mapping of keys to numbers, or a list of people: of mappings, or of lists of pairs"
    )


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list | tuple) and len(cast("list[Any]", pair)) == 2
