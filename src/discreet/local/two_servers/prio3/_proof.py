"""Fully linear proofs that encoded values are valid, checked on shares of values and of proofs.

A proof holds the values of the polynomials of the gadget's inputs at the root 1, which are random, and the values of
the polynomial of its output, which has twice the degree, at all roots but the last. The verifier compares both at a
random point.
Source: draft-irtf-cfrg-vdaf-20, Section 7.3; Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai 2019, Theorem 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._circuit import Circuit
from discreet.local.two_servers.prio3._field import Field, Vector

__all__ = ["Proofs", "doubled", "last_value", "weights_at"]


def doubled(field: Field, values: Vector) -> Vector:
    """The values of polynomials of degree below n at the 2n-th roots, from those at the n-th roots.

    The n-th roots are every second one, where the values are known; the others are the n-th roots times a 2n-th one,
    so a polynomial's coefficients, each times a power of that, have their values there.
    """
    n = values.shape[-2]
    coefficients = _transformed(field, values, pow(field.root(n), -1, field.modulus))
    shifted = field.mul(coefficients, field.powers(field.root(2 * n), n, pow(n, -1, field.modulus)))
    between = _transformed(field, shifted, field.root(n))
    return np.stack((values, between), axis=-2).reshape(*values.shape[:-2], 2 * n, field.limbs)


def _transformed(field: Field, values: Vector, root: int) -> Vector:
    """Σⱼ values[j] · root^(ij) for each i, where root is of the order n: by halves, even and odd j apart."""
    n = values.shape[-2]
    if n == 1:
        return values
    even = _transformed(field, values[..., ::2, :], pow(root, 2, field.modulus))
    odd = _transformed(field, values[..., 1::2, :], pow(root, 2, field.modulus))
    if n > 2:
        odd = field.mul(odd, field.powers(root, n // 2))
    return np.concatenate((field.add(even, odd), field.sub(even, odd)), axis=-2)


def last_value(field: Field, values: Vector) -> Vector:
    """All n values of polynomials of degree below n − 1, from the first n − 1 of them.

    The coefficient of degree n − 1 is the mean of the values times their roots, and it is 0.
    """
    n = values.shape[-2] + 1
    root = field.root(n)
    weighted = field.mul(values, field.powers(root, n - 1, -root))
    last = field.sum(weighted, weighted.ndim - 2)
    return np.concatenate((values, last[..., None, :]), axis=-2)


def weights_at(field: Field, order: int, points: Vector) -> Vector:
    """Lagrange weights of shape (points, order, limbs): a value at a point is the weighted sum of those at the roots.

    The weight of the root w is w/n · Π(t − v) over the other roots v, which needs no division. `points` has the shape
    (points, limbs).
    """
    differences = field.sub(points[:, None], field.powers(field.root(order), order))
    before, after = [differences[:, 0]], [differences[:, -1]]
    for i in range(1, order - 1):
        before.append(field.mul(before[-1], differences[:, i]))
        after.append(field.mul(after[-1], differences[:, -1 - i]))
    inner = field.mul(np.stack(before[:-1], axis=1), np.stack(after[-2::-1], axis=1)) if order > 2 else None
    ends = (after[-1][:, None], before[-1][:, None])
    products = np.concatenate((ends[0], ends[1]) if inner is None else (ends[0], inner, ends[1]), axis=1)
    scale = pow(order, -1, field.modulus)
    return field.mul(products, field.powers(field.root(order), order, scale))


_AT_ONCE = 1 << 16
"""Elements that stay in a core's cache while they are worked on."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """The proofs of a circuit: how long their parts are, and how they are made and checked. First axes are reports."""

    circuit: Circuit

    @property
    def length(self) -> int:
        """How many elements a proof has."""
        shape = self.circuit.shape
        return shape.arity + 2 * shape.points - 1

    @property
    def queries(self) -> int:
        """How many random elements a proof is checked with."""
        checks = self.circuit.shape.checks
        return 1 if checks == 1 else checks + 1

    @property
    def verifiers(self) -> int:
        """How many elements decide whether a value is valid."""
        return self.circuit.shape.arity + 2

    def prove(self, encoded: Vector, prover: Vector, joint: Vector) -> Vector:
        """Prove that values are valid, by a random element for each input of the gadget, and joint randomness."""
        return self._in_steps(self._prove, encoded, prover, joint)

    def query(self, encoded: Vector, proof: Vector, queries: Vector, joint: Vector) -> Vector:
        """Shares of verifiers, from one of two shares of values and proofs.

        If the random point is a root at which the polynomials hold values, which has probability below 2**-50, the
        verifiers reveal something of the value: `revealing` says where.
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
        """Which verifiers, each the sum of both shares, belong to a valid value."""
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
