"""The values that people may report: 0 … d − 1, or a list of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, printable
from discreet.sensitivity import unmasked

__all__ = ["Domain", "DomainLike", "array_of", "domain_of", "integer", "texts_of"]


def integer(value: int, name: str, least: int, most: int) -> int:
    """The value as an int; raises `ParameterError` unless it is a whole number from `least` to `most`.

    >>> integer(3, "buckets", 2, 10)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= most:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")
    return int(value)


def array_of(values: Any) -> NDArray[Any]:
    """Values as an array. It has no numeric type where a mask hides a value, or where lists have different lengths.

    >>> array_of([[1, 2], [3]]).dtype.kind, array_of([3, 4]).dtype.kind
    ('O', 'i')
    """
    try:
        shown = unmasked(values)
        return np.asarray(shown.tolist()) if isinstance(values, np.ma.MaskedArray) else shown
    except ValueError:  # lists of different lengths
        return np.array([None])


_MOST = 2**24

DomainLike = int | Sequence[str]


@dataclass(frozen=True, slots=True)
class Domain:
    """A public list of values, in order.

    Attributes
    ----------
    size
        How many there are.
    names
        The values, or `None` where they are the integers 0 … size − 1.
    """

    size: int
    names: tuple[str, ...] | None = None
    _places: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {name: place for place, name in enumerate(self.names or ())})

    def places(self, values: Any) -> NDArray[np.int64]:
        """Where each of the values, one or many, is in the list: integers in one dimension.

        Raises `ParameterError` for a value that is not in the list.
        """
        if self.names is None:
            return self._numbers(values)
        many: Iterable[Any] = (values,) if isinstance(values, str) else values
        try:
            return np.fromiter((self._places[name] for name in many), dtype=np.int64)
        except (KeyError, TypeError):
            raise ParameterError(
                "a value is not in the domain; report it as one of the names that the scheme lists, or add a name such "
                "as 'other' to them"
            ) from None

    def value(self, place: int) -> int | str:
        """The value at a place."""
        return place if self.names is None else self.names[place]

    def to_json(self) -> int | list[str]:
        """The list of names, or the size."""
        return self.size if self.names is None else list(self.names)

    def _numbers(self, values: Any) -> NDArray[np.int64]:
        array = array_of(values)
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        if (
            array.ndim > 1
            or array.dtype.kind not in "iub"
            or (array.dtype.kind == "b" and self.size != 2)
            or bool((array < 0).any() or (array >= self.size).any())
        ):
            raise ParameterError(f"values must be whole numbers from 0 to {self.size - 1}, one or a list of them")
        return np.atleast_1d(array).astype(np.int64)


def domain_of(domain: DomainLike | Domain, least: int = 2) -> Domain:
    """The domain of a size or of a list of names.

    Costs no privacy: it is public. Raises `ParameterError` unless it has `least` to 2**24 values, all different.

    >>> domain_of(["red", "green"]).places("green")
    array([1])
    """
    if isinstance(domain, Domain):
        domain = domain.to_json()
    if isinstance(domain, Integral) and domain is not True and domain is not False:
        result = Domain(int(domain))
    elif isinstance(domain, Sequence) and not isinstance(domain, str | bytes):
        names = tuple(domain)
        for name in names:
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ParameterError(f"a domain is a whole number d, for 0 … d - 1, or a list of texts, got {name!r}")
            try:
                name.encode()
            except UnicodeEncodeError:
                raise ParameterError(f"a name of a domain must be text that UTF-8 can write, got {name!a}") from None
        result = Domain(len(names), names)
        if len(set(names)) != len(names):
            seen: set[str] = set()
            twice = next(name for name in names if name in seen or seen.add(name))
            raise ParameterError(f"a domain lists each name once, but {printable(twice)!r} is there again")
    else:
        raise ParameterError(f"a domain is a whole number d, for 0 … d - 1, or a list of texts, got {domain!r}")
    if not least <= result.size <= _MOST:
        raise ParameterError(f"a domain has {least} to 2**24 values here, got {result.size}")
    return result


def texts_of(values: Any) -> list[str]:
    """One text or many, each a `str` and of no class derived from it; raises `ParameterError` for what is no text.

    A client's remembered draws depend on the characters alone, and not on how a derived class prints or compares.

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
