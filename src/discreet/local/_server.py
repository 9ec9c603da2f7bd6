"""The server: it adds reports up. Its only state is a vector of whole numbers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.errors import DataError
from discreet.local._codec import Decoder
from discreet.local._reports import FINGERPRINT, Integers, Reports

__all__ = ["Server"]

E = TypeVar("E")

_MAGIC = b"ds\x01"
_HEAD = len(_MAGIC) + FINGERPRINT
_MOST = 2**61
_BYTES_AT_ONCE = 1 << 23


class Server(Generic[E]):
    """Counts of reports: in any order, in any number of batches, on any number of servers that are added afterwards.

    Made by `scheme.server()`. It keeps no report. Nothing in a batch can make it fail: an invalid row is
    dropped and counted in `rejected`. It is not for several threads at once; give each a server and add them.

    >>> from discreet.local import KaryRandomizedResponse
    >>> scheme = KaryRandomizedResponse(domain=["a", "b"], epsilon=20)
    >>> one, two = (scheme.server().add(scheme.client().encode(value)) for value in ("a", "b"))
    >>> (one + two).estimate().frequencies.round(3).tolist()
    [0.5, 0.5]
    >>> sum([one, two]).reports
    2
    """

    __slots__ = ("_scheme", "_vector")

    def __init__(self, scheme: Decoder[E]) -> None:
        self._scheme = scheme
        self._vector = np.zeros(2 + scheme.cells, dtype=np.int64)  # reports, rejected, and the counts

    @classmethod
    def of_state(cls, scheme: Decoder[E], state: bytes) -> Server[E]:
        """The server of which this is `bytes(server)`. Raises `DataError` for anything else."""
        server = cls(scheme)
        if state[:3] != _MAGIC or len(state) != _HEAD + server._vector.nbytes + 4:
            raise DataError("this is not the state of a server of this scheme: its length or its first bytes differ")
        if state[3:_HEAD] != scheme.fingerprint:
            raise DataError("this is the state of another scheme's server; load it with the scheme that made it")
        if zlib.crc32(state[:-4]) != int.from_bytes(state[-4:], "little"):
            raise DataError("this state of a server was damaged: its checksum does not match")
        return cls.of_vector(scheme, np.frombuffer(state[_HEAD:-4], dtype="<i8"))

    @classmethod
    def of_vector(cls, scheme: Decoder[E], vector: Integers) -> Server[E]:
        """The server of which this is `vector`. Raises `DataError` for anything else."""
        server = cls(scheme)
        if vector.shape != server._vector.shape:
            raise DataError("this is not the vector of a server of this scheme: its length differs")
        server._vector[:] = vector
        if _impossible(server._vector, *scheme.reach):
            raise DataError("this state of a server has counts that no reports add up to")
        return server

    @property
    def scheme(self) -> Decoder[E]:
        """What the reports mean."""
        return self._scheme

    @property
    def reports(self) -> int:
        """How many reports were added."""
        return int(self._vector[0])

    @property
    def rejected(self) -> int:
        """How many rows of batches were invalid, and were dropped."""
        return int(self._vector[1])

    @property
    def vector(self) -> Integers:
        """A copy of the whole state: `reports`, `rejected`, and `counts`. Servers add up as their vectors do."""
        return self._vector.copy()

    @property
    def counts(self) -> Integers:
        """A copy of the counts. Their meaning is the scheme's."""
        return self._vector[2:].copy()

    def add(self, reports: Reports) -> Server[E]:
        """Count the reports of a batch; returns this server.

        Costs no privacy: clients have paid. Raises `DataError`, and counts nothing, for a batch of another scheme.
        """
        if not isinstance(reports, Reports):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError("a server adds Reports; read a batch by Reports.from_bytes or Reports.from_json first")
        if reports.fingerprint != self._scheme.fingerprint:
            raise DataError(
                f"these reports are of scheme {reports.fingerprint.hex()}, and this server is of scheme "
                f"{self._scheme.fingerprint.hex()} ({self._scheme.protocol}); load the scheme that the clients use"
            )
        layout = self._scheme.layout
        if len(reports) and reports.width != layout.width:
            self._vector[1] += len(reports)
            return self
        step = max(1, _BYTES_AT_ONCE // layout.width)
        for start in range(0, len(reports), step):
            self._count(reports.rows[start : start + step])
        return self

    def reject(self, rows: int) -> Server[E]:
        """Count rows that a reader has dropped as invalid; returns this server."""
        self._vector[1] += rows
        return self

    def merge(self, other: Server[E]) -> Server[E]:
        """Add another server's counts to this one; returns this server. `one + two` makes a new one instead.

        Raises `DataError`, and adds nothing, for a server of another scheme, and for counts beyond all reports.
        """
        if not isinstance(other, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError("a server merges with a server; load a state by scheme.server(state) first")
        if other._scheme.fingerprint != self._scheme.fingerprint:
            raise DataError("servers of different schemes do not add up")
        total = self._vector + other._vector
        if _impossible(total, *self._scheme.reach):
            raise DataError("these servers together have more reports than there can be; one of them was made up")
        self._vector = total
        return self

    def _count(self, rows: Any) -> None:
        fields, _ = self._scheme.parse_valid(rows)
        self._scheme.tally(fields, self._vector[2:])
        self._vector[0] += len(fields)
        self._vector[1] += len(rows) - len(fields)

    def estimate(self, candidates: Sequence[str] | None = None) -> E:
        """The estimate from the reports. `candidates` are for schemes without a domain: the values to look for.

        Costs no privacy: it works on what clients have randomized. Raises `DataError` before the first report, and
        `ParameterError` for candidates where none are needed, or where they are missing.
        """
        if self.reports == 0:
            raise DataError("there is nothing to estimate from: no report has been added")
        return self._scheme.read(self._vector[2:], self.reports, candidates)

    def __add__(self, other: Server[E]) -> Server[E]:
        if not isinstance(other, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return Server(self._scheme).merge(self).merge(other)

    def __radd__(self, other: object) -> Server[E]:
        """A copy for 0 + server, with which `sum(servers)` begins."""
        return Server(self._scheme).merge(self) if type(other) is int and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Server) and bytes(self) == bytes(other)  # pyright: ignore[reportUnknownArgumentType]

    __hash__ = None  # type: ignore[assignment]

    def __bytes__(self) -> bytes:
        body = b"".join((_MAGIC, self._scheme.fingerprint, self._vector.astype("<i8").tobytes()))
        return body + zlib.crc32(body).to_bytes(4, "little")

    def __repr__(self) -> str:
        return f"<server of {self._scheme.protocol}: {self.reports} reports, {self.rejected} rejected>"


def _impossible(vector: Integers, least: int, most: int) -> bool:
    """Whether no reports make this vector, or so many that whole numbers of 64 bits might not hold their sums."""
    head, counts, reports = vector[:2], vector[2:], vector[0]
    if bool((head < 0).any() or (head > _MOST).any()) or np.abs(counts, dtype=np.float64).sum() > _MOST:
        return True
    above = -(-counts // most) > reports
    below = -(counts // -least) > reports if least else counts < 0
    return bool((above | below).any())
