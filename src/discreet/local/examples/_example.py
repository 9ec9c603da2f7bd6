"""The record of a scheme that everything which tries schemes reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.local._reports import Bytes
from discreet.local._scheme import Scheme
from discreet.rational import Number

__all__ = ["Example", "in_columns"]


def _in_rows(value: Any, size: int) -> list[Any]:
    return [value] * size


def in_columns(value: Mapping[str, Any], size: int) -> dict[str, list[Any]]:
    """So many people alike, for a scheme that takes a column for each attribute."""
    return {name: [each] * size for name, each in value.items()}


def _bytes(scheme: Scheme[Any], rows: Bytes) -> list[bytes]:  # noqa: ARG001 (as every `seen`)
    return [row.tobytes() for row in rows]


@dataclass(frozen=True, slots=True)
class Example:
    """A scheme: what to choose it for, and a small one on which an audit can try its claim.

    kind: the class. group: its heading on the page. use: in words. shown: the code that makes `at(1)`.
    at: takes an ε; a scheme of which a report costs that much, over few values.
    pair: two values of a person that reports tell apart as well as any two, or nearly.
    note: why these, and what keeps an audit below the claim.
    alike: takes a value and a number; the values of so many people who all have this one.
    seen: what to look at of each report, where there are too many different ones to compare.

    >>> from discreet.local.examples import examples
    >>> [subsets] = [each for each in examples() if each.name == "SubsetSelection"]
    >>> subsets.at(2).loss.epsilon() <= 2, subsets.pair
    (True, (0, 1))
    """

    kind: type[Scheme[Any]]
    group: str
    use: str
    shown: str
    at: Callable[[Number], Scheme[Any]]
    pair: tuple[Any, Any]
    note: str
    alike: Callable[[Any, int], Any] = _in_rows
    seen: Callable[[Scheme[Any], Bytes], list[Any]] = _bytes

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.kind.__name__

    def reports(self, value: Any, size: int) -> list[Any]:
        """The first reports of so many people who all have the value, by `at(1)`, or what to look at of them."""
        scheme = self.at(1)
        return self.seen(scheme, scheme.simulate(self.alike(value, size)).rows)
