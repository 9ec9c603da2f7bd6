"""A scheme: the one public object from which clients and servers are made, so that they cannot disagree."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._client import Client
from discreet.local._codec import Longitudinal
from discreet.local._domain import integer
from discreet.local._remembered import remembered_rows
from discreet.local._reports import FINGERPRINT, Bytes, Fields, Integers, Layout, Reports
from discreet.local._server import Server
from discreet.noise import Draws, fresh_draws
from discreet.privacy import Loss

__all__ = ["E", "Scheme", "check_lifetime"]

E = TypeVar("E")
"""What a server of a scheme estimates."""


class Scheme(ABC, Generic[E]):
    """How values become reports and reports become an estimate. Public, immutable, and the same on both sides.

    `longitudinal` says what a client does with a second report: ``"once"``, every report is drawn afresh and each costs
    `loss`; ``"memoize"``, the report of a value is remembered for life, so that it can be sent any number of times and
    only another value costs again.
    """

    __slots__ = ()

    protocol: ClassVar[str]
    """Its name in JSON."""

    reading: ClassVar[frozenset[str]] = frozenset()
    """The parameters by which servers read their counts, and which no report depends on."""

    hash_names: ClassVar[tuple[str, ...]] = ()
    """What `hash` may be in its documents: the specifications of public functions that both sides compute alike."""

    longitudinal: Longitudinal

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of one report to whoever sees it. Neighbours differ in the sender's value."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How a report is laid out in bytes."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts a server keeps."""

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most that one report adds to a count: from −2**20 to 0, and from 1 to 2**20."""
        return 0, 1

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""

    @abstractmethod
    def prepare(self, values: Any) -> NDArray[Any]:
        """One value or many, checked, in one dimension. Raises `ParameterError` for what cannot be reported."""

    @abstractmethod
    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A row of bytes for each value, randomized: each row alone has `loss`."""

    def remember(self, prepared: NDArray[Any], secret: bytes) -> Bytes:
        """A row for each value of one client under ``"memoize"``: the secret and the value determine it.

        A protocol with a second, fresh stage overrides this: it remembers its first stage alone.
        """
        return remembered_rows(prepared, self.layout.width, self.perturb, secret, self.label)

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Which reports a client could have sent, among those that fit the layout."""
        return np.ones(len(fields), dtype=np.bool_)

    def parse_valid(self, rows: Bytes) -> tuple[Fields, NDArray[np.bool_]]:
        """The fields of the rows of bytes that a client could have sent, and which rows these are."""
        fields, which = self.layout.unpack(rows)
        fields = fields.select(which)
        genuine = self.genuine(fields)
        which[which] = genuine
        return fields.select(genuine), which

    @abstractmethod
    def tally(self, fields: Fields, counts: Integers) -> None:
        """Add reports to the counts, in place."""

    @abstractmethod
    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> E:
        """The estimate from the counts of `reports` reports."""

    def to_json(self) -> str:
        """The scheme as a JSON document, which `discreet.local.from_json` reads. Everything in it is public."""
        return json.dumps(self._document(self.parameters()), ensure_ascii=False)

    def client_document(self) -> dict[str, Any]:
        """The document without what only servers read: schemes that share it make the same reports."""
        return self._document({key: each for key, each in self.parameters().items() if key not in self.reading})

    def _document(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"scheme": self.protocol, "version": 1, **parameters, "longitudinal": self.longitudinal}

    @property
    def fingerprint(self) -> bytes:
        """Eight bytes by which a report names its scheme: the first of `label`."""
        return self.label[:FINGERPRINT]

    @property
    def label(self) -> bytes:
        """SHA-256 of `client_document` in JSON, by which a client's memory keeps schemes apart.

        The whole hash is used, not the fingerprint: two documents of one fingerprint can be made in 2**32 tries, and if
        they shared draws, their reports together could reveal more than their losses add up to. Parameters in `reading`
        are left out, because no report depends on them.
        """
        return _label_of(self)

    def client(self, secret: bytes | None = None) -> Client:
        """A client: one person's device.

        Under ``"memoize"`` it needs its `secret`, 16 bytes or more that never leave the device and are kept for life
        (``discreet.noise.secret(32)`` makes one): who knows it can undo the noise. Raises `ParameterError` if it is
        missing there, or given under ``"once"``.
        """
        return Client(self, secret)

    def simulate(self, values: Any) -> Reports:
        """First reports of as many clients as there are values, each with a secret of its own that is thrown away.

        For studies before roll-out; the reports have the same law as those of real clients. Raises `ParameterError`
        as `client().encode`.
        """
        return Reports(self.fingerprint, self.perturb(self.prepare(values), fresh_draws()))

    def server(self, state: bytes | None = None) -> Server[E]:
        """A server without reports, or the one whose `bytes(server)` is the state.

        Raises `DataError` for a state that is damaged or of another scheme.
        """
        return Server.of_state(self, state) if state is not None else Server(self)

    def shuffled(self, n: int) -> Loss:
        """What one of `n` reports reveals when a trusted shuffler publishes them in random order, and nothing else.

        Under ``"memoize"`` this is for one collection. Raises `ParameterError` unless n is a whole number from 1.
        Source: Feldman, McMillan and Talwar 2021, Theorem 3.2; ``proofs/shuffled.md``.

        >>> from discreet.local import KaryRandomizedResponse
        >>> KaryRandomizedResponse(domain=5, epsilon=1).shuffled(10_000).epsilon(delta=1e-6) < 0.1
        True
        """
        return self.loss.shuffled(n)

    def lifetime_loss(self, *, reports: int, values: int) -> Loss:
        """What all the reports of one person reveal together: of `reports` in all, about `values` different values.

        ``"once"`` pays for each report, and neighbours differ in the person's whole history. ``"memoize"`` pays for
        each different value, and neighbours differ in what the values are: which reports have the same value is not
        hidden. A scheme with other parameters is another scheme, and the client draws anew for it. Costs
        no privacy: it is arithmetic. Raises `ParameterError` unless 1 ≤ values ≤ reports ≤ 2**63.

        >>> from discreet.local import KaryRandomizedResponse
        >>> scheme = KaryRandomizedResponse(domain=5, epsilon=1, longitudinal="memoize")
        >>> scheme.lifetime_loss(reports=365, values=2).epsilon()
        2.0
        """
        check_lifetime(reports, values)
        return (values if self.longitudinal == "memoize" else reports) * self.loss


@lru_cache(maxsize=64)
def _label_of(scheme: Scheme[Any]) -> bytes:
    """Cached, because a long list of names takes longer to write as JSON than to count with."""
    return hashlib.sha256(json.dumps(scheme.client_document(), ensure_ascii=False).encode()).digest()


def check_lifetime(reports: int, values: int) -> None:
    """Raise `ParameterError` unless 1 ≤ values ≤ reports ≤ 2**63."""
    integer(values, "values", 1, integer(reports, "reports", 1, 2**63))
