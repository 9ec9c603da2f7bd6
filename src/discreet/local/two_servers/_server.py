"""One of two servers: it checks shares together with the other, adds them up, and publishes the sum with noise."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local._reports import FINGERPRINT, Bytes, Reports
from discreet.local.two_servers._codec import ShareCodec
from discreet.local.two_servers._total import BATCH, PublishedShare
from discreet.local.two_servers.prio3 import NONCE, Verified

__all__ = ["ShareServer"]

_MAGIC = b"dt\x01"
_HEAD = len(_MAGIC) + FINGERPRINT
_MOST_REPORTS = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A report's place in a batch of verified reports."""

    verified: Verified
    row: int

    @property
    def output(self) -> NDArray[np.uint64]:
        return self.verified.outputs[self.row]


class ShareServer:
    """A server that holds one share of each report, and never the values. Made by `scheme.server()`.

    A batch takes three exchanges with the other server: `check` makes a message of the reports that came in, `judge`
    makes verdicts of the other's message, and `settle` adds up what both accept. `publish` ends the batch. Every report
    is used once, however often it comes. Nothing in a batch of reports can make a server fail: what is not a valid
    report is dropped and counted in `rejected`. Messages between servers are public to both, and to nobody else. Not
    for several threads at once.
    """

    __slots__ = ("_accepted", "_batch", "_index", "_key", "_pending", "_prio3", "_rejected", "_scheme", "_sum", "_used")

    def __init__(self, scheme: ShareCodec, index: int, key: bytes) -> None:
        self._scheme, self._index, self._key, self._prio3 = scheme, index, key, scheme.prio3
        self._pending: dict[bytes, _Place] = {}  # checked here, not yet judged
        self._accepted: dict[bytes, _Place] = {}  # accepted here, not yet by the other
        self._batch: set[bytes] = set()  # in the sum
        self._used: set[bytes] = set()
        self._rejected = 0
        self._sum = np.zeros((scheme.circuit.shape.outputs, scheme.circuit.field.limbs), dtype=np.uint64)

    @classmethod
    def of_state(cls, scheme: ShareCodec, index: int, key: bytes, state: bytes) -> ShareServer:
        """The server that `bytes(server)` saved. Raises `DataError` for anything else."""
        server = cls(scheme, index, key)
        body, width = state[:-4], server._sum.nbytes
        if body[: len(_MAGIC)] != _MAGIC or len(body) < _HEAD + 24 + width:
            raise DataError("this is not the state of a server of this scheme: its length or its first bytes differ")
        if body[len(_MAGIC) : _HEAD] != scheme.fingerprint(f"state {index}"):
            raise DataError("this is the state of another server; load it as the one that made it")
        if zlib.crc32(body) != int.from_bytes(state[-4:], "little"):
            raise DataError("this state of a server was damaged: its checksum does not match")
        server._rejected, batch, used = (
            int.from_bytes(body[i : i + 8], "little") for i in (_HEAD, _HEAD + 8, _HEAD + 16)
        )
        at = _HEAD + 24 + width
        nonces = [body[i : i + NONCE] for i in range(at, len(body), NONCE)]
        raw = np.frombuffer(body[at - width : at], dtype=np.uint8)[None]
        total, good = scheme.circuit.field.decode(raw)
        if len(nonces) != used or batch > used or not good.all():
            raise DataError("this state of a server is inconsistent: its numbers of reports or its sum are wrong")
        server._sum, server._batch, server._used = total[0], set(nonces[:batch]), set(nonces)
        return server

    @property
    def scheme(self) -> ShareCodec:
        """What the reports mean."""
        return self._scheme

    @property
    def reports(self) -> int:
        """How many reports are in the sum that is published next."""
        return len(self._batch)

    @property
    def waiting(self) -> int:
        """How many reports wait for a message of the other server."""
        return len(self._pending) + len(self._accepted)

    @property
    def rejected(self) -> int:
        """How many reports were dropped: malformed, invalid, repeated, or not accepted by the other server."""
        return self._rejected

    def check(self, reports: Reports) -> Reports:
        """Take reports in; returns the message to the other server, which says nothing of their values.

        Raises `DataError`, and takes nothing in, for a batch of another scheme or for the other server.
        """
        self._expect(reports, f"report {self._index}", "these reports are not for this server")
        prio3, messages = self._prio3, list[Bytes]()
        width = NONCE + prio3.public_size + prio3.input_sizes[self._index]
        if len(reports) and reports.width != width:
            self._rejected += len(reports)
            return self._message("share", [], NONCE + prio3.verifier_size)
        for start in range(0, len(reports), prio3.at_once):
            rows = self._fresh(reports.rows[start : start + prio3.at_once])
            nonces, public, inputs = np.split(rows, [NONCE, NONCE + prio3.public_size], axis=1)
            verified = prio3.verify_init(self._key, self._index, nonces, public, inputs)
            own = verified.part.shape[1] * self._index
            good = verified.good & (verified.part == public[:, own : own + verified.part.shape[1]]).all(axis=1)
            self._rejected += int((~good).sum())
            for row in np.flatnonzero(good).tolist():
                self._pending[nonces[row].tobytes()] = _Place(verified, row)
            messages.append(np.concatenate((nonces, verified.share), axis=1)[good])
        return self._message("share", messages, NONCE + prio3.verifier_size)

    def judge(self, theirs: Reports) -> Reports:
        """Verify reports with the other server's message; returns the verdicts, a nonce and 0 or 1 each.

        A report that has not come in here waits at the other server. Raises `DataError` for anything but a message of
        the other server of this scheme.
        """
        self._expect(theirs, f"share {1 - self._index}", "this is not a message of the other server")
        width = NONCE + self._prio3.verifier_size
        if len(theirs) and theirs.width != width:
            raise DataError(f"a message of the other server has {width} bytes a report; this has {theirs.width}")
        their_rows: dict[bytes, int] = {}
        verdicts: dict[bytes, bool] = {}
        for row, nonce in enumerate(_nonces(theirs.rows)):
            if nonce in self._pending:
                their_rows.setdefault(nonce, row)
            elif nonce in self._used:
                verdicts[nonce] = nonce in self._accepted or nonce in self._batch
        verdicts |= self._judged(their_rows, theirs.rows[:, NONCE:])
        rows = [nonce + bytes([accepted]) for nonce, accepted in verdicts.items()]
        return self._message("verdict", [_rows(rows, NONCE + 1)], NONCE + 1)

    def settle(self, theirs: Reports) -> ShareServer:
        """Add up what both have accepted, and drop what the other has not; returns this server.

        Raises `DataError` for anything but verdicts of the other server of this scheme.
        """
        self._expect(theirs, f"verdict {1 - self._index}", "these are not verdicts of the other server")
        if len(theirs) and theirs.width != NONCE + 1:
            raise DataError(f"a verdict has {NONCE + 1} bytes; these have {theirs.width}")
        both: list[NDArray[np.uint64]] = []
        for row in theirs.rows:
            nonce = row[:NONCE].tobytes()
            place = self._accepted.pop(nonce, None)
            if row[NONCE] != 1:
                self._rejected += place is not None or self._pending.pop(nonce, None) is not None
            elif place is not None:
                both.append(place.output)
                self._batch.add(nonce)
        if both:
            field = self._scheme.circuit.field
            self._sum = field.add(self._sum, field.sum(np.stack(both), 0))
        return self

    def publish(self) -> PublishedShare:
        """The share of the totals with this server's noise: to be made public. The next batch begins.

        This is where privacy is paid: every report of the batch costs its sender `scheme.loss`, **and nobody is
        charged**. The noise is drawn once; a share that is lost is lost. Keep `bytes(server)` before you send the
        share: a server that is loaded from before would draw other noise for the same reports. Raises `DataError`, and
        reveals nothing, for fewer reports than the scheme's minimum or more than 2**30.
        """
        if not self._scheme.minimum <= self.reports <= _MOST_REPORTS:
            raise DataError(
                f"a total is published of {self._scheme.minimum} to 2**30 reports, and {self.reports} are settled; "
                "settle more reports first"
            )
        field, nonces, total = self._scheme.circuit.field, self._batch, self._sum
        self._batch, self._sum = set(), np.zeros_like(total)  # first, so that no failure has noise drawn for it twice
        noisy = self._scheme.noise.release(field.numbers(total))
        batch = hashlib.sha256(b"".join(sorted(nonces))).digest()[:BATCH]
        values = tuple(value % field.modulus for value in noisy)
        return PublishedShare(self._scheme.fingerprint(f"published {self._index}"), batch, len(nonces), values)

    def __bytes__(self) -> bytes:
        """The state without waiting reports, which are lost. Secret: keep it from the other server."""
        counts = (self._rejected, len(self._batch), len(self._used))
        nonces = [*sorted(self._batch), *sorted(self._used - self._batch)]
        head = (_MAGIC, self._scheme.fingerprint(f"state {self._index}"), *(n.to_bytes(8, "little") for n in counts))
        body = b"".join((*head, self._scheme.circuit.field.encode(self._sum[None]).tobytes(), *nonces))
        return body + zlib.crc32(body).to_bytes(4, "little")

    def __repr__(self) -> str:
        which = ("first", "second")[self._index]
        return f"<{which} server of {self._scheme.protocol}: {self.reports} reports, {self.rejected} rejected>"

    def _expect(self, batch: Reports, role: str, refusal: str) -> None:
        if not isinstance(batch, Reports):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError("a server takes Reports; read a batch by Reports.from_bytes or Reports.from_json first")
        if batch.fingerprint != self._scheme.fingerprint(role):
            raise DataError(f"{refusal}, or they are of another scheme; send each batch where its fingerprint says")

    def _fresh(self, rows: Bytes) -> Bytes:
        """The rows with new nonces, which are marked as used. The others are rejected."""
        fresh: list[int] = []
        for row, nonce in enumerate(_nonces(rows)):
            if nonce not in self._used:
                self._used.add(nonce)
                fresh.append(row)
        self._rejected += len(rows) - len(fresh)
        return rows[fresh]

    def _judged(self, their_rows: dict[bytes, int], shares: Bytes) -> dict[bytes, bool]:
        """Verify pending reports with the other server's shares, at `their_rows`: whether each is accepted."""
        verdicts: dict[bytes, bool] = {}
        groups: dict[int, list[bytes]] = {}
        for nonce in their_rows:
            groups.setdefault(id(self._pending[nonce].verified), []).append(nonce)
        for nonces in groups.values():
            places = [self._pending.pop(nonce) for nonce in nonces]
            own, rows = places[0].verified, [place.row for place in places]
            mine, other = own.share[rows], shares[[their_rows[nonce] for nonce in nonces]]
            shares_of_both = (other, mine) if self._index else (mine, other)
            message, valid = self._prio3.verifier_shares_to_message(*shares_of_both)
            agreed = (valid & self._prio3.verify_next(own.rows(rows), message)).tolist()
            for nonce, place, accepted in zip(nonces, places, agreed, strict=True):
                verdicts[nonce] = accepted
                if accepted:
                    self._accepted[nonce] = place
            self._rejected += agreed.count(False)
        return verdicts

    def _message(self, role: str, rows: list[Bytes], width: int) -> Reports:
        empty = np.zeros((0, width), dtype=np.uint8)
        return Reports(self._scheme.fingerprint(f"{role} {self._index}"), np.concatenate([empty, *rows]))


def _nonces(rows: Bytes) -> list[bytes]:
    joined = np.ascontiguousarray(rows[:, :NONCE]).tobytes()
    return [joined[i : i + NONCE] for i in range(0, len(joined), NONCE)]


def _rows(parts: Iterable[bytes], width: int) -> Bytes:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, width)
