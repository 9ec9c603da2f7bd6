"""The base of schemes in which two servers learn a noisy total and nothing else, as long as one is honest."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from numpy.typing import NDArray

from discreet.errors import DataError, ParameterError
from discreet.local._domain import integer
from discreet.local._reports import FINGERPRINT
from discreet.local.two_servers._client import ShareClient
from discreet.local.two_servers._server import ShareServer
from discreet.local.two_servers._total import PublishedShare, Total
from discreet.local.two_servers.prio3 import Circuit, Prio3
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.privacy import Loss, budget_of
from discreet.privacy import from_json as loss_from_json
from discreet.privacy import to_json as loss_to_json
from discreet.sensitivity import Norms

__all__ = ["TwoServers", "check_arguments", "commitment", "readable"]

_KEY = 32
_MOST_SCALE = 2**50
_MOST_REPORTS = 2**30


def commitment(key: bytes) -> str:
    """A commitment to the key that the two servers of a scheme share, so that it cannot be changed afterwards.

    SHA-256 in hexadecimal digits: public, and no help to find the key. Raises `ParameterError` unless the key has 32
    bytes (``discreet.noise.secret(32)``).

    >>> len(commitment(bytes(32)))
    64
    """
    if not isinstance(key, bytes) or len(key) != _KEY:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("the key of two servers has 32 bytes; make one with discreet.noise.secret(32)")
    return hashlib.sha256(key).hexdigest()


class TwoServers(ABC):
    """How values become two shares, and how two servers add them up: public, immutable, the same for everybody.

    A client splits its value into two shares, each of which alone is noise, and proves that they are shares of a valid
    value. The servers check the proofs together, add up their shares, and each adds noise of its own, in full
    strength, before it publishes. Whoever has both published shares has the total with both noises: √2 times the
    standard deviation of a server that is trusted with everything, where `local` schemes pay √n.

    **Guarantee.** `loss` holds against an adversary who controls one of the servers, all other clients and the
    collector, and may deviate from the protocol, if the other server is honest. It is computational: it rests on
    TurboSHAKE128. The total is right if both servers are honest but curious; clients can spoil it only by reporting
    another valid value. The number of reports is public. Statement, proof and sources: ``proofs/two_servers.md``.

    Attributes
    ----------
    spend
        What one report may reveal of its sender: pure, (ε, δ) or ρ.
    minimum
        The least number of reports that is published together.
    commitment
        `discreet.local.commitment` of the servers' key.
    """

    __slots__ = ()

    protocol: ClassVar[str]
    """Its name in JSON."""

    spend: Loss
    minimum: int
    commitment: str

    @property
    @abstractmethod
    def circuit(self) -> Circuit:
        """Which values are valid."""

    @property
    @abstractmethod
    def sensitivity(self) -> int | Norms:
        """How much the totals change if one client has another value."""

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """The arguments that are the scheme's own, as JSON has them."""

    @abstractmethod
    def prepare(self, values: Any) -> NDArray[Any]:
        """One value or many, checked, in one dimension. Raises `ParameterError` for what cannot be reported."""

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """What each server adds to each total: discrete Laplace for a pure spend, discrete Gaussian for others."""
        return _calibrated(self.spend, self.sensitivity)

    @property
    def loss(self) -> Loss:
        """What one published total reveals of one report in it, to anyone who does not control both servers.

        Neighbours differ in the value of one report. If one person sends k reports, all published totals together
        reveal at most `loss.group(k)`.
        """
        return self.noise.loss(self.sensitivity)

    @property
    def prio3(self) -> Prio3:
        """How values are shared and checked; bound to all of this document."""
        return Prio3(self.circuit, b"discreet two servers" + hashlib.sha256(self.to_json().encode()).digest())

    def fingerprint(self, role: str) -> bytes:
        """Eight bytes that name this scheme and the role of a message in it."""
        return hashlib.sha256(f"{role}\0{self.to_json()}".encode()).digest()[:FINGERPRINT]

    def client(self) -> ShareClient:
        """A client: one person's device. It has no secrets to keep."""
        return ShareClient(self)

    def server(self, index: int, key: bytes, state: bytes | None = None) -> ShareServer:
        """The first server, `index` 0, or the second, 1, which run apart and share the key with nobody else.

        With `state`, the server that `bytes(server)` saved: load a state once, and never one from before a publication.
        Raises `ParameterError` for another index, or if the key is not the one that the scheme is committed to, and
        `DataError` for a state that is damaged or of another server.
        """
        if type(index) is not int or index not in (0, 1):
            raise ParameterError(f"a server is the first, 0, or the second, 1, got {index!r}")
        if commitment(key) != self.commitment:
            raise ParameterError("this is not the key that the scheme is committed to; load the key it was made with")
        return ShareServer(self, index, key) if state is None else ShareServer.of_state(self, index, key, state)

    def collect(self, one: PublishedShare, other: PublishedShare) -> Total:
        """The totals, with the noise of both servers, from what they have published.

        Costs no privacy: the servers have paid. Raises `DataError` unless these are the shares of the first and of the
        second server of this scheme, for the same reports.
        """
        if {one.fingerprint, other.fingerprint} != {self.fingerprint(f"published {index}") for index in (0, 1)}:
            raise DataError("a total takes a share of the first and one of the second server of this scheme; give both")
        if (one.reports, one.batch) != (other.reports, other.batch):
            raise DataError(
                "these shares are not of the same reports, so that their sum means nothing; let both servers exchange "
                "all verdicts before they publish"
            )
        modulus, outputs = self.circuit.field.modulus, self.circuit.shape.outputs
        if any(len(each.values) != outputs or max(each.values) >= modulus for each in (one, other)):
            raise DataError(f"a share of this scheme has {outputs} values, all of them below its modulus")
        totals = ((a + b) % modulus for a, b in zip(one.values, other.values, strict=True))
        return Total(tuple(t - modulus if t > modulus // 2 else t for t in totals), one.reports, self.noise)

    def to_json(self) -> str:
        """The scheme as a JSON document, which `TwoServers.from_json` reads. Everything in it is public."""
        common = {"spend": loss_to_json(self.spend), "minimum": self.minimum, "commitment": self.commitment}
        document = {"scheme": self.protocol, "version": 1, **self.arguments(), **common}
        return json.dumps(document, ensure_ascii=False)

    @staticmethod
    def from_json(text: str | bytes) -> TwoServers:
        """The scheme that `to_json` wrote: clients and servers load the same document.

        Raises `ParameterError` for a document that is not one, of another version, or with a key that is not known.
        """
        try:
            document = json.loads(text)
            kind = _KINDS[document.pop("scheme")]
            version = document.pop("version")
            if version != 1 or type(version) is not int:
                raise ValueError
            return kind(**{**document, "spend": loss_from_json(document["spend"])})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise ParameterError(
                "this is not the document of a scheme for two servers: it must be an object with version 1, a scheme "
                f"that is one of {sorted(_KINDS)}, and that scheme's arguments alone"
            ) from None


_KINDS: dict[str, Callable[..., TwoServers]] = {}
"""Each scheme that `TwoServers.from_json` reads, by its name in JSON."""

S = TypeVar("S", bound=TwoServers)


def readable(kind: type[S]) -> type[S]:
    """Register a scheme under its `protocol`, so that `TwoServers.from_json` reads its documents."""
    _KINDS[kind.protocol] = kind
    return kind


@cache
def _calibrated(spend: Loss, sensitivity: int | Norms) -> DiscreteLaplace | DiscreteGaussian:
    kind, allowed = budget_of(spend)
    pure = kind == "pure" or (kind == "approx" and not any(allowed[1:]))
    return (DiscreteLaplace if pure else DiscreteGaussian).calibrate(spend, sensitivity)


def check_arguments(scheme: TwoServers) -> None:
    """Check the arguments that all schemes for two servers have. Raises `ParameterError` for invalid ones."""
    object.__setattr__(scheme, "minimum", integer(scheme.minimum, "minimum", 1, _MOST_REPORTS))
    committed = cast("object", scheme.commitment)
    if not isinstance(committed, str) or re.fullmatch("[0-9a-f]{64}", committed) is None:
        raise ParameterError("commitment must be 64 hexadecimal digits; discreet.local.commitment(key) makes them")
    mechanism = scheme.noise
    if (mechanism.scale if isinstance(mechanism, DiscreteLaplace) else mechanism.sigma) > _MOST_SCALE:
        raise ParameterError(
            "the noise would be above 2**50, which a share cannot hold; spend more, or lower the bound"
        )
