"""Masses of the building blocks, against mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr

from discreet.privacy.pld._compose import convolve_all, power, smooth_size, transform_error
from discreet.privacy.pld._gaussian import GaussianPair
from discreet.privacy.pld._laplace import LaplacePair


def test_ndtr_is_as_accurate_as_assumed() -> None:
    """The assumption: relative error at most (12 + 4 z^2) u below zero, 12 u above; here on 4,000 points."""
    points = np.concatenate((np.linspace(-37, 0, 3000), np.linspace(0, 9, 500), -np.geomspace(1e-8, 1, 500)))
    found = ndtr(points)
    with mp.workdps(40):
        for z, value in zip(points.tolist(), found.tolist(), strict=True):
            truth = mp.ncdf(mp.mpf(z))
            bound = (12 + 4 * min(z, 0.0) ** 2) * 2**-53
            assert abs(mp.mpf(value) / truth - 1) <= bound, z


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 1.0), (1.0, 0.01), (5.0, 0.1), (0.6, 1e-4)])
def test_gaussian_cells_are_within_their_errors(noise: float, rate: float) -> None:
    pair = GaussianPair(noise, rate)
    low, high = pair.span(-60.0)
    edges = np.linspace(low + 1e-3 * (high - low), high, 40)
    cells = pair.cells(edges)
    with mp.workdps(60):
        cuts = [mp.mpf("-inf")]
        for loss in edges.tolist():
            d = mp.exp(mp.mpf(loss)) - 1 + mp.mpf(rate)
            cuts.append(noise**2 * mp.log(d / mp.mpf(rate)) + mp.mpf(1) / 2 if d > 0 else mp.mpf("-inf"))
        cuts.append(mp.mpf("inf"))
        slope = 1 / mp.mpf(noise)  # a shift of the edge by `edge_error` moves at most this density, divided by dl/dx
        for index in range(len(cuts) - 1):
            q = mp.ncdf(cuts[index + 1] / noise) - mp.ncdf(cuts[index] / noise)
            assert abs(q - cells.q[index]) <= cells.q_error[index] + 1e-9 * q * slope + mp.mpf(10) ** -16


def test_laplace_cells_add_up() -> None:
    for rate in (1.0, 0.2):
        pair = LaplacePair(2.0, rate)
        low, high = pair.span(0.0)
        for edges in (np.linspace(low - 1, high + 1, 50), np.linspace(low, high, 7), np.array([0.0])):
            cells = pair.cells(edges)
            assert abs(cells.p.sum() - 1) < 1e-14 and abs(cells.q.sum() - 1) < 1e-14
            inside = (cells.p > 0) & (cells.q > 0)
            ratio = np.log(cells.p[inside] / cells.q[inside])
            assert np.all(np.diff(ratio) > -1e-12)


def test_transform_errors_are_covered() -> None:
    """FFT entries against exact sums in 40 digits, on sizes of every radix."""
    rng = np.random.default_rng(7)
    for size in (16, 48, 80, 240, 400, 720, 3200):
        assert smooth_size(size) == size
        values = rng.random(size)
        values /= values.sum()
        found = np.fft.rfft(values)
        bound = transform_error(size) * values.sum()
        with mp.workdps(40):
            for k in (0, 1, size // 3, size // 2):
                unit = mp.expjpi(mp.mpf(-2) / size)
                truth = mp.fsum(mp.mpf(v) * unit ** (j * k % size) for j, v in enumerate(values.tolist()))
                assert abs(mp.mpc(complex(found[k])) - truth) <= bound
                assert abs(mp.mpc(complex(found[k])) - truth) <= 0.2 * bound  # with room


def test_powers_are_covered() -> None:
    rng = np.random.default_rng(8)
    base = np.exp(-rng.random(50) * 1e-4 + 1j * rng.random(50))
    for exponent in (1, 2, 7, 1000, 99_999):
        found = power(base, exponent)
        with mp.workdps(40):
            for z, value in zip(base.tolist(), found.tolist(), strict=True):
                truth = mp.mpc(z) ** exponent
                assert abs(mp.mpc(value) - truth) <= 4 * exponent * mp.mpf(2) ** -53 * abs(truth)


def test_the_tree_of_convolutions_covers_its_round_off() -> None:
    rng = np.random.default_rng(9)
    arrays = [values / values.sum() for values in (rng.random(size) for size in (3, 5, 8, 8, 9, 20, 31))]
    found, error = convolve_all(arrays)
    exact = [mp.mpf(1)]
    with mp.workdps(40):
        for values in arrays:
            grown = [mp.mpf(0)] * (len(exact) + len(values) - 1)
            for i, a in enumerate(exact):
                for j, b in enumerate(values.tolist()):
                    grown[i + j] += a * mp.mpf(b)
            exact = grown
        assert len(exact) == len(found)
        assert mp.fsum(abs(a - mp.mpf(b)) for a, b in zip(exact, found.tolist(), strict=True)) <= error
    assert error < 1e-11
