"""Fully linear proofs that encoded values are valid, checked on shares of values and of proofs.

A proof has the values of the gadget's inputs at the root 1, which are random, and those of what the gadget puts out at
all other places: a polynomial of twice the degree. Who checks compares both at a random point.
Source: draft-irtf-cfrg-vdaf-20, Section 7.3; Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai 2019, Theorem 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.local._two_servers._prio3._circuit import Circuit
from discreet.local._two_servers._prio3._field import Vector
from discreet.local._two_servers._prio3._polynomial import doubled, last_value, weights_at

__all__ = ["Proofs"]

_AT_ONCE = 1 << 16
"""Elements that stay in a core's cache while they are worked on."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """The proofs of a circuit: how long their parts are, and how they are made and checked. First axes are reports."""

    circuit: Circuit

    @property
    def length(self) -> int:
        """The elements of a proof."""
        shape = self.circuit.shape
        return shape.arity + 2 * shape.points - 1

    @property
    def queries(self) -> int:
        """The random elements that a proof is checked with."""
        checks = self.circuit.shape.checks
        return 1 if checks == 1 else checks + 1

    @property
    def verifiers(self) -> int:
        """The elements that tell whether a value is valid."""
        return self.circuit.shape.arity + 2

    def prove(self, encoded: Vector, prover: Vector, joint: Vector) -> Vector:
        """Proofs, by random elements, as many as the gadget has inputs, and joint randomness."""
        return self._in_steps(self._prove, encoded, prover, joint)

    def query(self, encoded: Vector, proof: Vector, queries: Vector, joint: Vector) -> Vector:
        """Shares of verifiers, from one of two shares of values and proofs.

        Where the point happens to be one of those where the polynomials have values of their own, an event of
        probability below 2**-50, they would tell something of the value: `revealing` says where.
        """
        field, points = self.circuit.field, self.circuit.shape.points
        weights = [weights_at(field, order, queries[:, -1]) for order in (points, 2 * points)]
        return self._in_steps(self._query, encoded, proof, queries[:, :-1], joint, np.concatenate(weights, axis=1))

    def revealing(self, queries: Vector) -> NDArray[np.bool_]:
        """Where a point is a root of unity of the order of the polynomials' points."""
        field, power = self.circuit.field, queries[:, -1]
        for _ in range(self.circuit.shape.points.bit_length() - 1):
            power = field.mul(power, power)
        return (power == field.element(1)).all(axis=1)

    def decide(self, verifiers: Vector) -> NDArray[np.bool_]:
        """Which verifiers, being sums of both shares, are those of a valid value."""
        wires, claimed = verifiers[:, 1:-1], verifiers[:, -1]
        gadgets = self.circuit.gadget(wires[:, :, None])[:, 0]
        return (verifiers[:, 0] == 0).all(axis=1) & (gadgets == claimed).all(axis=1)

    def _in_steps(self, work: Callable[..., Vector], *parts: Vector) -> Vector:
        shape = self.circuit.shape
        step = max(1, _AT_ONCE // (shape.arity * shape.points))
        rows = range(0, len(parts[0]), step)
        return np.concatenate([work(*(part[i : i + step] for part in parts)) for i in rows] or [work(*parts)])

    def _prove(self, encoded: Vector, prover: Vector, joint: Vector) -> Vector:
        circuit = self.circuit
        wires = self._wires(encoded, prover, joint, 1)
        gadgets = circuit.gadget(doubled(circuit.field, wires))
        return np.concatenate((prover, gadgets[:, :-1]), axis=1)

    def _query(self, encoded: Vector, proof: Vector, queries: Vector, joint: Vector, weights: Vector) -> Vector:
        circuit, shape = self.circuit, self.circuit.shape
        field, half = circuit.field, pow(2, -1, circuit.field.modulus)
        wires = self._wires(encoded, proof[:, : shape.arity], joint, half)
        gadgets = last_value(field, proof[:, shape.arity :])

        checked = circuit.checked(encoded, gadgets[:, 2 : 2 * shape.calls + 1 : 2], half)
        if shape.checks > 1:
            checked = field.sum(field.mul(checked, queries), 1)[:, None]
        wire_values = field.sum(field.mul(wires, weights[:, None, : shape.points]), 2)
        gadget_value = field.sum(field.mul(gadgets, weights[:, shape.points :]), 1)
        return np.concatenate((checked, wire_values, gadget_value[:, None]), axis=1)

    def _wires(self, encoded: Vector, first: Vector, joint: Vector, share: int) -> Vector:
        """The values of the polynomials of all inputs: (reports, arity, points, limbs)."""
        circuit, shape = self.circuit, self.circuit.shape
        wires = np.zeros((len(encoded), shape.arity, shape.points, circuit.field.limbs), dtype=np.uint64)
        wires[:, :, 0] = first
        wires[:, :, 1 : shape.calls + 1] = circuit.wires(encoded, joint, share)
        return wires
