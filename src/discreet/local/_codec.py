"""What clients and servers need of a scheme: how values become rows of bytes, and how rows become counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.noise import Draws
from discreet.privacy import Loss

__all__ = ["Codec", "Decoder", "Encoder", "Longitudinal", "longitudinal_of"]

E_co = TypeVar("E_co", covariant=True)

Longitudinal = Literal["once", "memoize"]


def longitudinal_of(policy: str) -> Longitudinal:
    """The policy, or a `ParameterError`."""
    if policy in ("once", "memoize"):
        return policy
    raise ParameterError(f"longitudinal must be 'once' or 'memoize', got {policy!r}")


class Codec(Protocol):
    """The part of a scheme that both sides use. `discreet.local.Scheme` documents every member."""

    protocol: ClassVar[str]

    @property
    def loss(self) -> Loss:
        """The privacy loss of one report."""
        ...

    @property
    def fingerprint(self) -> bytes:
        """Eight bytes by which a report names its scheme."""
        ...

    @property
    def layout(self) -> Layout:
        """How a report is laid out in bytes."""
        ...

    def to_json(self) -> str:
        """The public document."""
        ...


class Encoder(Codec, Protocol):
    """The part of a scheme that a client uses."""

    longitudinal: Longitudinal

    def prepare(self, values: Any) -> NDArray[Any]:
        """One value or many, checked, in one dimension."""
        ...

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A row of bytes for each value, with fresh noise."""
        ...

    def remember(self, prepared: NDArray[Any], secret: bytes) -> Bytes:
        """A row of bytes for each value, with the noise that the secret and the value determine."""
        ...


class Decoder(Codec, Protocol[E_co]):
    """The part of a scheme that a server uses."""

    @property
    def cells(self) -> int:
        """How many counts a server keeps."""
        ...

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most that one report adds to a count."""
        ...

    def parse_valid(self, rows: Bytes) -> tuple[Fields, NDArray[np.bool_]]:
        """The fields of the rows that a client could have sent, and which rows these are."""
        ...

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Add reports to the counts, in place."""
        ...

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> E_co:
        """The estimate from the counts of `reports` reports."""
        ...
