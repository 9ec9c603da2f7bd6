"""Polynomials by their values at all roots of unity of an order, in the order of the powers of the first root.

Values are arrays of shape (…, order, limbs).
Source: draft-irtf-cfrg-vdaf-20, Sections 6.1.2 and 6.1.3; Faz-Hernandez 2025, ia.cr/2025/1727.
"""

from __future__ import annotations

import numpy as np

from discreet.local._two_servers._prio3._field import Field, Vector

__all__ = ["doubled", "last_value", "weights_at"]


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
    """The weights, of shape (points, order, limbs), by which the values at roots of an order make that at a point.

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
