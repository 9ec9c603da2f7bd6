"""Attribute sampling: each person reports by one of several schemes, and their values do not say which."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, ParameterError, printable
from discreet.local._codec import Longitudinal
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local._scheme import E, Scheme
from discreet.local._server import Server
from discreet.noise import Draws, derived_secret, remembered_draws
from discreet.privacy import Loss, as_pure, pure

__all__ = ["MOST_SCHEMES", "Held", "Sampling", "SamplingScheme", "check_cells", "checked_names", "prepared_columns"]


MOST_SCHEMES = 2**12
_MOST_CELLS = 2**26

Held = Callable[[int, Integers], NDArray[Any]]
"""A function of a scheme's number and of places of people: their prepared values for that scheme."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Schemes, and how often each is drawn: a whole number each, of their sum. ``proofs/several.md``, section 1.

    What follows from thousands of schemes is worked out once, and not for each batch of reports.

    Attributes
    ----------
    layout
        The number of the scheme, and its report, filled up with zeros to the widest one.
    cells
        For each scheme the number of its reports, and its counts.
    """

    schemes: tuple[Scheme[Any], ...]
    weights: tuple[int, ...]
    layout: Layout = field(init=False, repr=False, compare=False)
    cells: int = field(init=False, repr=False, compare=False)
    _layouts: tuple[Layout, ...] = field(init=False, repr=False, compare=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        layouts, sizes = zip(*((scheme.layout, 1 + scheme.cells) for scheme in self.schemes), strict=True)
        width = max(layout.width for layout in layouts)
        object.__setattr__(self, "layout", Layout((len(self.schemes),), 8 * width))
        object.__setattr__(self, "cells", sum(sizes))
        object.__setattr__(self, "_layouts", layouts)
        object.__setattr__(self, "_starts", (0, *itertools.accumulate(sizes[:-1])))

    def perturb(self, people: int, held: Held, draws: Draws) -> Bytes:
        """A scheme for each person, and then what each scheme's people report, scheme by scheme."""
        chosen = self._chosen(people, draws)
        bits = np.zeros((people, self.layout.bits // 8), dtype=np.uint8)
        for number, at in _by_number(chosen, len(self.schemes)):
            bits[at, : self._layouts[number].width] = self.schemes[number].perturb(held(number, at), draws)
        return self.layout.pack(chosen, bits=bits)

    def remember(self, people: int, held: Held, secret: bytes, label: bytes) -> Bytes:
        """Rows of one client, whose scheme is drawn once for life; that scheme remembers with a secret of its own."""
        [number] = self._chosen(1, remembered_draws(secret, label + b"choice")).tolist()
        own = derived_secret(secret, label + b"part" + number.to_bytes(2, "little"))
        bits = np.zeros((people, self.layout.bits // 8), dtype=np.uint8)
        bits[:, : self._layouts[number].width] = self.schemes[number].remember(held(number, np.arange(people)), own)
        return self.layout.pack(np.full(people, number), bits=bits)

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Which rows are a genuine report of their scheme, and zeros."""
        mask = np.zeros(len(fields), dtype=np.bool_)
        for number, at in _by_number(fields.numbers[0], len(self.schemes)):
            scheme, layout = self.schemes[number], self._layouts[number]
            rows, width = fields.bits[at], layout.width
            inner, valid = layout.unpack(rows[:, :width])
            valid &= ~rows[:, width:].any(axis=1)
            mask[at[valid]] = scheme.genuine(inner.select(valid))
        return mask

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Add each scheme's reports to its counts."""
        for number, at in _by_number(fields.numbers[0], len(self.schemes)):
            scheme, layout, start = self.schemes[number], self._layouts[number], self._starts[number]
            inner, _ = layout.unpack(fields.bits[at][:, : layout.width])
            counts[start] += at.size
            scheme.tally(inner, counts[start + 1 : start + 1 + scheme.cells])

    def servers(self, counts: Integers, reports: int) -> tuple[Server[Any], ...]:
        """Each scheme's own server. Raises `DataError` for counts that so many reports do not add up to."""
        if int(counts[list(self._starts)].sum()) != reports:
            raise DataError("this state of a server has counts that no reports add up to")
        return tuple(
            Server.of_vector(scheme, np.insert(counts[start : start + 1 + scheme.cells], 1, 0))
            for scheme, start in zip(self.schemes, self._starts, strict=True)
        )

    def worst(self, loss: Callable[[Scheme[Any]], Loss]) -> Loss:
        """The largest of the schemes' losses, all of them pure."""
        epsilons = [as_pure(loss(scheme)) for scheme in self.schemes]
        return pure(max(epsilon for epsilon in epsilons if epsilon is not None))

    def check(self, longitudinal: Longitudinal, names: tuple[str, ...]) -> None:
        """Refuse schemes that do not go together, by name."""
        for scheme, name in zip(self.schemes, names, strict=True):
            if scheme.longitudinal != longitudinal:
                raise ParameterError(
                    f"the scheme of {printable(name)!r} has longitudinal={scheme.longitudinal!r}, and the whole has "
                    f"{longitudinal!r}; they must agree, as a device remembers all of its reports or none"
                )
            if as_pure(scheme.loss) is None:
                raise ParameterError(
                    f"the scheme of {printable(name)!r} has no pure epsilon, and the largest of several losses is "
                    "known for pure ones alone; take another scheme for it"
                )
        check_cells(self.cells)

    def _chosen(self, people: int, draws: Draws) -> Integers:
        ends = np.cumsum(np.array(self.weights, dtype=np.int64))
        drawn = draws.below(int(ends[-1]), people)
        return drawn if int(ends[-1]) == ends.size else np.searchsorted(ends, drawn, side="right").astype(np.int64)


@dataclass(frozen=True, slots=True, init=False)
class SamplingScheme(Scheme[E]):
    """A scheme in which each person reports by one of several others, all of which are about the same record."""

    _sampling: Sampling = field(init=False, repr=False, compare=False)

    @abstractmethod
    def _held(self, prepared: NDArray[Any], number: int, at: Integers) -> NDArray[Any]:
        """What the people at these places hold for the scheme of this number, prepared."""

    @property
    def layout(self) -> Layout:
        """The number of the scheme, and its report, filled up with zeros to the widest one."""
        return self._sampling.layout

    @property
    def cells(self) -> int:
        """For each scheme the number of its reports, and its counts."""
        return self._sampling.cells

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A scheme for each person, and what it reports of them."""
        return self._sampling.perturb(prepared.size, lambda number, at: self._held(prepared, number, at), draws)

    def remember(self, prepared: NDArray[Any], secret: bytes) -> Bytes:
        """The client's scheme, and what it remembers."""
        return self._sampling.remember(
            prepared.size, lambda number, at: self._held(prepared, number, at), secret, self.label
        )

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Those that a client of their scheme could have sent, and zeros."""
        return self._sampling.genuine(fields)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Add each scheme's reports to its counts."""
        self._sampling.tally(fields, counts)


def check_cells(cells: int) -> None:
    """Refuse more counts than a server keeps."""
    if cells > _MOST_CELLS:
        raise ParameterError(
            f"a server would keep {cells:,} counts, and 2**26 are the most; take fewer attributes, or smaller domains"
        )


def _by_number(numbers: Integers, count: int) -> Iterator[tuple[int, Integers]]:
    """The numbers that are there, in order, and the places of each."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    held = np.bincount(numbers, minlength=count)
    ends = np.cumsum(held)
    for number in np.flatnonzero(held).tolist():
        yield number, order[ends[number] - held[number] : ends[number]]


Prepare = Callable[[Any], NDArray[Any]]


def checked_names(names: Sequence[Any], most: int) -> tuple[str, ...]:
    """The names of attributes; raises `ParameterError` unless they are 1 to `most` texts."""
    if not 1 <= len(names) <= most or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"give 1 to {most:,} attributes by name, as {{'os': …, 'age': …}}, got {len(names)}")
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ParameterError(f"the name of an attribute must be text that UTF-8 can write, got {name!a}") from None
    return tuple(names)


def prepared_columns(values: Any, prepare: Mapping[str, Prepare]) -> NDArray[Any]:
    """The records as a structured array: a field for each attribute, named by its number, as its scheme prepares it.

    `values` is a record, a mapping of attributes to columns, a list of records, or a frame of pandas, polars or
    pyarrow. Raises `ParameterError` for what is none, or has other attributes, and as the schemes do.
    """
    columns = _columns(values, tuple(prepare))
    prepared: list[NDArray[Any]] = []
    for name, column in columns.items():
        try:
            prepared.append(prepare[name](column))
        except ParameterError as refusal:
            raise ParameterError(f"{printable(name)!r}: {refusal}") from None
    if len({each.size for each in prepared}) != 1:
        raise ParameterError("each person has one value of each attribute, and these columns differ in length")
    rows = np.empty(prepared[0].size, dtype=[(str(place), each.dtype) for place, each in enumerate(prepared)])
    for place, each in enumerate(prepared):
        rows[str(place)] = each
    return rows


def _columns(values: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(values, Mapping):
        record = cast("Mapping[Any, Any]", values)
        _check_keys(record.keys(), names)
        return {name: record[name] for name in names}
    if hasattr(values, "__len__") and not isinstance(values, Sequence | np.ndarray):  # a lazy frame has no length
        held = getattr(values, "column_names", getattr(values, "columns", None))
        if held is not None:
            _check_keys(list(held), names)
            return {name: np.asarray(values[name]) for name in names}
    records: list[Any] = list(values) if isinstance(values, Sequence | np.ndarray) else [None]
    if not all(isinstance(record, Mapping) for record in records):
        raise ParameterError(
            "values must be records: a mapping of attributes to values, a list of such, or columns as a mapping or a "
            "frame; collect a lazy frame before"
        )
    for record in records:
        _check_keys(record.keys(), names)
    return {name: [record[name] for record in records] for name in names}


def _check_keys(keys: Any, names: tuple[str, ...]) -> None:
    """Refuse records with other attributes. The message does not name those: records are private."""
    if missing := [name for name in names if name not in keys]:
        raise ParameterError(f"a record has a value of each attribute, and {printable(missing[0])!r} is missing")
    if len(keys) != len(names):
        raise ParameterError(f"a record has the scheme's attributes, {len(names)} of them, and no others")
