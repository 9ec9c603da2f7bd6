"""Prio3 for two aggregators: values are split into two shares, which are checked together and added up apart.

Names are the draft's; the first aggregator is its leader, the second its one helper. Widths of arrays are exact: the
caller has refused reports of another width before.
Source: draft-irtf-cfrg-vdaf-20, Section 7.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._circuit import Circuit
from discreet.local.two_servers.prio3._expand import SECRET, Rows, derived, expanded
from discreet.local.two_servers.prio3._field import Vector
from discreet.local.two_servers.prio3._proof import Proofs

__all__ = ["NONCE", "Prio3", "Sharded", "Verified"]

NONCE = 16
"""Bytes of the nonce of a report."""

_VERSION = 18  # of the constructions: drafts 18 to 20 share it
_VALUE, _PROOF, _JOINT, _PROVER, _QUERY, _JOINT_SECRET, _JOINT_PART = range(1, 8)
_ONE_PROOF = b"\x01"


@dataclass(frozen=True, slots=True, eq=False)
class Sharded:
    """Reports: the public share, for both aggregators, and the input share of each."""

    public: Rows
    inputs: tuple[Rows, Rows]


@dataclass(frozen=True, slots=True, eq=False)
class Verified:
    """The state of one aggregator after it checked its shares.

    Attributes
    ----------
    outputs
        The output share of each report, which is added up if both accept it.
    secret
        The seed of the joint randomness, which both must derive alike: 32 bytes a report, or none.
    part
        Its part of that seed, which the public share must contain.
    share
        Its verifier share, which it sends to the other.
    good
        Which shares were well formed.
    """

    outputs: Vector
    secret: Rows
    part: Rows
    share: Rows
    good: NDArray[np.bool_]

    def rows(self, rows: list[int]) -> Verified:
        """The state of some of the reports."""
        return Verified(self.outputs[rows], self.secret[rows], self.part[rows], self.share[rows], self.good[rows])


@dataclass(frozen=True, slots=True)
class Prio3:
    """The draft's scheme for a circuit, in the public context of an application."""

    circuit: Circuit
    context: bytes

    @property
    def public_size(self) -> int:
        """Bytes of a public share."""
        return 2 * SECRET if self._joint else 0

    @property
    def input_sizes(self) -> tuple[int, int]:
        """Bytes of the first and of the second input share."""
        blind = SECRET if self._joint else 0
        elements = self.circuit.shape.length + Proofs(self.circuit).length
        return elements * self.circuit.field.size + blind, SECRET + blind

    @property
    def verifier_size(self) -> int:
        """Bytes of what an aggregator sends to the other for each report."""
        return Proofs(self.circuit).verifiers * self.circuit.field.size + (SECRET if self._joint else 0)

    @property
    def at_once(self) -> int:
        """How many reports are processed at a time: quickest, with a few hundred MiB at most."""
        return max(1, min(1024, (1 << 24) // self.input_sizes[0]))

    @property
    def entropy(self) -> int:
        """Bytes that must be drawn for a report."""
        return SECRET * (4 if self._joint else 2)

    @property
    def _joint(self) -> bool:
        return self.circuit.shape.joint > 0

    def shard(self, values: NDArray[Any], nonces: Rows, entropy: Rows) -> Sharded:
        """Split valid values into shares, by uniform bytes of `entropy` for each; both are secret."""
        field, proofs = self.circuit.field, Proofs(self.circuit)
        secrets = [entropy[:, i : i + SECRET] for i in range(0, self.entropy, SECRET)]
        second, prover = secrets[0], secrets[-1]
        encoded = self.circuit.encode(values)
        value, proof = self._expanded(second)
        first = field.sub(encoded, value)

        joint, public = np.zeros((len(values), 0, field.limbs), dtype=np.uint64), entropy[:, :0]
        if self._joint:
            parts = (self._part(0, secrets[2], first, nonces), self._part(1, secrets[1], value, nonces))
            public = np.concatenate(parts, axis=1)
            joint = self._joint_elements(self._joint_secret(*parts))

        random = expanded(field, prover, self._tag(_PROVER), _row(_ONE_PROOF), self.circuit.shape.arity)
        first_proof = field.sub(proofs.prove(encoded, random, joint), proof)
        shares = (field.encode(first), field.encode(first_proof))
        blinds = (secrets[2], secrets[1]) if self._joint else (entropy[:, :0], entropy[:, :0])
        inputs = np.concatenate((*shares, blinds[0]), axis=1), np.concatenate((second, blinds[1]), axis=1)
        return Sharded(public, inputs)

    def verify_init(self, key: bytes, index: int, nonces: Rows, public: Rows, inputs: Rows) -> Verified:
        """Check the shares of aggregator `index`, 0 or 1, under the key that both have."""
        field, shape, proofs = self.circuit.field, self.circuit.shape, Proofs(self.circuit)
        blinds = inputs[:, -SECRET:] if self._joint else inputs[:, :0]
        if index == 0:
            at = shape.length * field.size
            value, good = field.decode(inputs[:, :at])
            proof, proof_good = field.decode(inputs[:, at : at + proofs.length * field.size])
            good = good & proof_good
        else:
            value, proof = self._expanded(inputs[:, :SECRET])
            good = np.ones(len(inputs), dtype=np.bool_)

        part = secret = inputs[:, :0]
        joint = np.zeros((len(inputs), 0, field.limbs), dtype=np.uint64)
        if self._joint:
            part = self._part(index, blinds, value, nonces)
            parts = (part, public[:, SECRET:]) if index == 0 else (public[:, :SECRET], part)
            secret = self._joint_secret(*parts)
            joint = self._joint_elements(secret)

        queries = expanded(field, _row(key), self._tag(_QUERY), _with(_ONE_PROOF, nonces), proofs.queries)
        verifiers = field.encode(proofs.query(value, proof, queries, joint))
        good = good & ~proofs.revealing(queries)
        share = np.concatenate((verifiers, part), axis=1)
        return Verified(self.circuit.truncated(value), secret, part, share, good)

    def verifier_shares_to_message(self, first: Rows, second: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """The message that both must agree to, and which reports have a valid value."""
        field, proofs = self.circuit.field, Proofs(self.circuit)
        size = proofs.verifiers * field.size
        (one, good), (two, other_good) = field.decode(first[:, :size]), field.decode(second[:, :size])
        good = good & other_good & proofs.decide(field.add(one, two))
        return (self._joint_secret(first[:, size:], second[:, size:]) if self._joint else first[:, :0]), good

    def verify_next(self, verified: Verified, message: Rows) -> NDArray[np.bool_]:
        """Which reports an aggregator accepts, given the message."""
        return verified.good & (verified.secret == message).all(axis=1)

    def _expanded(self, secrets: Rows) -> tuple[Vector, Vector]:
        """The second aggregator's shares of the value and of the proof."""
        field, length = self.circuit.field, self.circuit.shape.length
        value = expanded(field, secrets, self._tag(_VALUE), _row(b"\x01"), length)
        proof = expanded(field, secrets, self._tag(_PROOF), _row(_ONE_PROOF + b"\x01"), Proofs(self.circuit).length)
        return value, proof

    def _part(self, index: int, blinds: Rows, value: Vector, nonces: Rows) -> Rows:
        binder = np.concatenate((_with(bytes([index]), nonces), self.circuit.field.encode(value)), axis=1)
        return derived(blinds, self._tag(_JOINT_PART), binder)

    def _joint_secret(self, first: Rows, second: Rows) -> Rows:
        return derived(_row(bytes(SECRET)), self._tag(_JOINT_SECRET), np.concatenate((first, second), axis=1))

    def _joint_elements(self, secrets: Rows) -> Vector:
        return expanded(self.circuit.field, secrets, self._tag(_JOINT), _row(_ONE_PROOF), self.circuit.shape.joint)

    def _tag(self, usage: int) -> bytes:
        """The domain separation of one application, scheme and purpose from all others."""
        algorithm = self.circuit.algorithm.to_bytes(4, "big")
        return bytes([_VERSION, 0]) + algorithm + usage.to_bytes(2, "big") + self.context


def _row(data: bytes) -> Rows:
    return np.frombuffer(data, dtype=np.uint8)[None]


def _with(head: bytes, rows: Rows) -> Rows:
    """Rows that begin with the same bytes."""
    return np.concatenate((np.broadcast_to(_row(head), (len(rows), len(head))), rows), axis=1)
