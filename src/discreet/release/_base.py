"""What every release can do: show itself, be saved, and be read as JSON."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from discreet.privacy import Loss, in_words
from discreet.release._files import read_file, write_file
from discreet.release._shown import ShownTable

__all__ = ["BaseRelease"]


class BaseRelease(ShownTable):
    """The answer to a question under differential privacy. It may be shown to anyone: what is done with it is free.

    A kind of release is a subclass that says how it is stored and which cells it shows. `loss` is what it cost, and
    `certificate` says in plain JSON what ran, under its ``"kind"``.
    """

    __slots__ = ()

    loss: Loss
    certificate: Mapping[str, Any]

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The whole release; `from_bytes` restores it."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Restore a stored release. Raises `LedgerError` if the bytes are none of this kind."""

    @abstractmethod
    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release as plain JSON values, with its loss and certificate; errors are at `level`."""

    def to_json(self, level: float = 0.95) -> str:
        """The release as one JSON object, which `discreet verify` reads. Errors are at `level`. Costs nothing."""
        return json.dumps(self.to_dict(level), allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole release to a new file, which `load` reads and `discreet verify` checks.

        Costs nothing. Raises `ParameterError` if there is such a file already, `DataError` if it cannot be written.
        """
        write_file(self.to_bytes(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The release in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

        Raises `DataError` if the file cannot be read, `LedgerError` if it is no release of this kind.
        """
        return cls.from_bytes(read_file(path))

    def _cost(self) -> str:
        return in_words(self.loss)
