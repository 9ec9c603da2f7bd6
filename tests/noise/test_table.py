"""Tables against exact tails: every 16-bit prefix, every 64-bit threshold, and the bits beyond."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from discreet.noise import _gaussian, _laplace, _rounded_laplace_noise
from discreet.noise._blocks import _OPEN, Table
from discreet.noise._gaussian import gaussian_blocks
from discreet.noise._laplace import geometric_blocks

PRECISION = 700


def weights(kind: str, scale: Fraction) -> list[mpmath.mpf]:
    """exp(−k/scale), or exp(−k²/(2 scale²)), or what of exp(−|z|/scale) rounds to k, until far below 2**−300."""
    s = mpmath.mpf(scale.numerator) / scale.denominator
    found = []
    while True:
        k = len(found)
        if kind == "rounded laplace":
            weight = mpmath.exp((0.5 - k) / s) - mpmath.exp((-0.5 - k) / s) if k else 2 - 2 * mpmath.exp(-0.5 / s)
        else:
            weight = mpmath.exp(-k / s) if kind == "laplace" else mpmath.exp(-k * k / (2 * s * s))
        found.append(weight)
        if weight < mpmath.mpf(2) ** -340:
            return found


def signed_tails(w: list[mpmath.mpf]) -> list[mpmath.mpf]:
    order = [w[0]] + [weight for weight in w[1:] for _ in range(2)]
    return tails(order)


def tails(order: list[mpmath.mpf]) -> list[mpmath.mpf]:
    sums, total = [], mpmath.mpf(0)
    for weight in reversed(order):
        total += weight
        sums.append(total)
    return [value / total for value in reversed(sums)][1:]


CASES = [
    (kind, scale, signed)
    for kind in ("laplace", "gaussian", "rounded laplace")
    for scale, signed in [
        ("1/1000", True),
        ("1/2", True),
        ("1", True),
        ("355/113", True),
        ("10", True),
        ("63.9", True),
        ("64", False),
        ("1000/3", False),
        (str(2**56), False),
    ]
    if signed or kind != "rounded laplace"
]


def table_of(kind: str, scale: Fraction, signed: bool) -> tuple[Table, list[mpmath.mpf]]:
    module = {"laplace": _laplace, "gaussian": _gaussian, "rounded laplace": _rounded_laplace_noise}[kind]
    if signed:
        return module._table(scale), signed_tails(weights(kind, scale))
    blocks = {"laplace": geometric_blocks, "gaussian": gaussian_blocks}[kind](scale)
    return blocks.table, tails(weights(kind, scale / 2**blocks.shift))


def _mostly(cases: list[tuple[str, str, bool]]) -> list[object]:
    """One of two is for the soak, so that each scale is met of some kind, and each kind at scales of every size."""
    scales = list(dict.fromkeys(scale for _, scale, _ in cases))
    kinds = list(dict.fromkeys(kind for kind, _, _ in cases))
    return [
        pytest.param(*case, marks=[pytest.mark.soak] * ((scales.index(case[1]) + kinds.index(case[0])) % 2))
        for case in cases
    ]


@pytest.mark.parametrize(("kind", "scale", "signed"), _mostly(CASES))
def test_thresholds_and_prefixes_are_exact(kind: str, scale: str, signed: bool) -> None:
    with mpmath.workprec(PRECISION):
        table, exact = table_of(kind, Fraction(scale), signed)
        for bits in (64, 128, 192):
            bounds = table._tails(bits)
            whole = mpmath.mpf(2) ** bits
            for (low, high), c in zip(bounds, exact, strict=False):
                assert low <= c * whole <= high <= low + 1
            assert len(bounds) < len(exact)
            assert exact[len(bounds)] * whole <= 1
            assert all(a[0] >= b[0] and a[1] >= b[1] for a, b in pairwise(bounds))
        edges = np.array([int(mpmath.floor(c * 2**16)) for c in reversed(exact)])
    order = np.arange(65536, dtype=np.int64)
    least = edges.size - np.searchsorted(edges, order + 1)  # c >= (prefix + 1) / 2**16
    most = edges.size - np.searchsorted(edges, order)
    closed = (least == most) & (order > 0)
    labels = np.where(least % 2 == 1, (least + 1) // 2, -(least // 2)) if signed else least
    assert (table._guide[closed] == labels[closed]).all()
    assert (table._guide[~closed] == _OPEN).all()
    assert closed.mean() > 0.95


def words(uniform: int, bits: int) -> bytes:
    """The bytes that make a table see this `bits`-bit number."""
    prefix, rest = uniform >> bits - 16, (uniform >> bits - 64) % 2**48
    later = uniform % 2 ** (bits - 64)
    head = prefix.to_bytes(2, "little") + rest.to_bytes(8, "little")
    tail = [(later >> bits - 64 - 64 * (i + 1)) % 2**64 for i in range((bits - 64) // 64)]
    return head + b"".join(word.to_bytes(8, "little") for word in tail)


@pytest.mark.parametrize(
    ("kind", "scale", "signed"), _mostly([case for case in CASES if case[1] in {"1/2", "10", "64"}])
)
def test_bits_on_a_threshold_are_settled_further_down(kind: str, scale: str, signed: bool, scripted) -> None:
    def label(y: int) -> int:
        return y if not signed else (y + 1) // 2 if y % 2 else -(y // 2)

    with mpmath.workprec(PRECISION):
        table, exact = table_of(kind, Fraction(scale), signed)
        for k in sorted({1, 2, 3, len(table._low) // 3, len(table._low) - 2}):
            for bits in (128, 192):
                on = int(mpmath.floor(exact[k - 1] * mpmath.mpf(2) ** bits))
                for uniform in (on - 1, on + 1, on >> bits - 64 << bits - 64):
                    drawn = table.sample(1, scripted(words(uniform, bits)))
                    y = sum(1 for c in exact if uniform < c * mpmath.mpf(2) ** bits)
                    assert drawn.tolist() == [label(y)], (k, bits, uniform - on)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_draw_beyond_the_listed_tail(kind: str, scripted) -> None:
    with mpmath.workprec(PRECISION):
        table, exact = table_of(kind, Fraction(10), signed=True)
        drawn = table.sample(1, scripted(words(12345, 192)))
        y = sum(1 for c in exact if c * mpmath.mpf(2) ** 192 > 12345)
    assert abs(int(drawn[0])) == (y + 1) // 2
    assert y > len(table._low)
