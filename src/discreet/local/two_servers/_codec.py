"""What the client and the servers need of a scheme for two servers: how values are shared, checked and added up."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from discreet.local.two_servers.prio3 import Circuit, Prio3
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.privacy import Loss

__all__ = ["ShareCodec"]


class ShareCodec(Protocol):
    """The part of a scheme that both sides use. `discreet.local.TwoServers` documents every member."""

    protocol: ClassVar[str]
    minimum: int

    @property
    def circuit(self) -> Circuit:
        """Which values are valid."""
        ...

    @property
    def prio3(self) -> Prio3:
        """How values are shared and checked."""
        ...

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise that each server adds to each total."""
        ...

    @property
    def loss(self) -> Loss:
        """The privacy loss of one report in one published total."""
        ...

    def prepare(self, values: Any) -> NDArray[Any]:
        """One value or many, checked, in one dimension."""
        ...

    def fingerprint(self, role: str) -> bytes:
        """Eight bytes by which a message names the scheme and its role in it."""
        ...

    def to_json(self) -> str:
        """The public document."""
        ...
