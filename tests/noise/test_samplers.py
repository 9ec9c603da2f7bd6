"""The noise itself: its law, its range and its exact paths.

Chi-square tests use the secure source, so they differ from run to run. Each fails by chance with probability below
1e-9: the threshold is 1e-12, which leaves room for the chi-square approximation with 100 or more expected per bin.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.noise import (
    _gaussian,
    _laplace,
    discrete_gaussian,
    discrete_laplace,
    rounded_gaussian,
    rounded_laplace_noise,
)
from discreet.noise._gaussian import gaussian_blocks
from discreet.noise._laplace import geometric_blocks
from discreet.rational import rational

SAMPLERS = [discrete_laplace, discrete_gaussian, rounded_gaussian, rounded_laplace_noise]
BLOCKS = {_laplace: geometric_blocks, _gaussian: gaussian_blocks}
SMALL = ["0.001", 0.5, 1, "355/113", 10, 63.9, 64.1]
LARGE = [1e4, Fraction(1, 3) * 10**9, 1e12, 2**56]
DRAWS = 400_000
ALARM = 1e-12


def assert_counts_fit(observed: np.ndarray, probabilities: np.ndarray) -> None:
    order = np.argsort(probabilities)[::-1]
    observed, expected = observed[order], DRAWS * probabilities[order] / probabilities.sum()
    split = int((expected >= 100).sum())
    observed = np.append(observed[:split], observed[split:].sum())
    expected = np.append(expected[:split], expected[split:].sum())
    if expected[-1] < 100:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    assert observed.size == 1 or stats.chisquare(observed, expected).pvalue > ALARM


def probabilities_of(sampler: Callable, scale: float, reach: int) -> np.ndarray:
    k = np.arange(-reach, reach + 1)
    if sampler is rounded_gaussian:  # by the tail on the side where it is small
        near = np.abs(k)
        return stats.norm.sf((near - 0.5) / scale) - stats.norm.sf((near + 0.5) / scale)
    if sampler is rounded_laplace_noise:
        out = np.exp((0.5 - np.abs(k)) / scale) * -np.expm1(-1 / scale) / 2
        return np.where(k == 0, -np.expm1(-0.5 / scale), out)
    weights = np.exp(-np.abs(k) / scale) if sampler is discrete_laplace else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", SMALL)
def test_law_at_small_scales(sampler, scale) -> None:
    drawn = sampler(scale, DRAWS)
    exact = float(rational(scale, "scale"))
    reach = int(60 * exact) + 2
    assert np.abs(drawn).max() <= reach  # beyond it: below e**-58 per draw
    assert_counts_fit(np.bincount(drawn + reach, minlength=2 * reach + 1), probabilities_of(sampler, exact, reach))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", LARGE)
def test_law_at_large_scales(sampler, scale) -> None:
    drawn = sampler(scale, DRAWS)
    exact = float(rational(scale, "scale"))
    is_laplace = sampler in {discrete_laplace, rounded_laplace_noise}
    continuous = stats.laplace(0, exact) if is_laplace else stats.norm(0, exact)
    edges = np.floor(continuous.ppf(np.arange(1, 300) / 300))
    probabilities = np.diff(np.concatenate([[0], continuous.cdf(edges + 0.5), [1]]))  # off by O(1/scale²)
    assert_counts_fit(np.bincount(np.searchsorted(edges, drawn), minlength=300), probabilities)
    assert_counts_fit(np.bincount(drawn % 256, minlength=256), np.full(256, 1 / 256))
    assert_counts_fit(np.bincount((drawn // 7) % 101, minlength=101), np.full(101, 1 / 101))


@pytest.mark.parametrize("module", [_laplace, _gaussian])
def test_every_decision_in_exact_arithmetic_gives_the_same_law(module, seeded) -> None:
    """Seeded, so without false alarms: the filter switched off, and the filter on, against the same probabilities."""
    scale = Fraction(100)
    blocks = BLOCKS[module](scale)
    source = seeded(3)
    drawn = blocks.propose(30_000, source, slack=np.inf)
    weight = probabilities_of(discrete_laplace if module is _laplace else discrete_gaussian, 100.0, 3000)
    edges = np.arange(-400, 401, 20)
    bins = np.searchsorted(edges, np.arange(-3000, 3001))
    expected = np.bincount(bins, weights=weight)
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    assert stats.chisquare(observed, expected * observed.sum()).pvalue > 1e-9


@pytest.mark.parametrize("module", [_laplace, _gaussian])
def test_the_filter_changes_no_draw(module, seeded) -> None:
    """Blocks, places and 32-bit uniforms are drawn first, so both runs decide about the same ones."""
    blocks = BLOCKS[module](Fraction(10**9))
    quick, slow = blocks.propose(3000, seeded(4)), blocks.propose(3000, seeded(4), slack=np.inf)
    assert quick.tolist() == slow.tolist()


def test_a_draw_beyond_64_bits_is_kept_whole(scripted) -> None:
    """A uniform of about 40 / 2**192 is 129 scales out, which is beyond 2**63 at the largest scale."""
    prefix, rest, later = bytes(2), bytes(8), bytes(8) + (40).to_bytes(8, "little") + b"\x55" * 8
    blocks = geometric_blocks(Fraction(2**56))
    for place, sign in [(b"\x05" + bytes(7), 1), (b"\x05" + bytes(6) + b"\x80", -1)]:
        drawn = blocks.propose(1, scripted(prefix + rest + later + place + bytes(4)))
        assert drawn.dtype == object
        value = int(drawn[0])
        assert type(drawn[0]) is int
        assert value * sign > 2**63
        assert value * sign % 2**51 == 5
    drawn = _laplace._discrete_laplace(3, Fraction(2**56), scripted(bytes(200)))
    assert drawn.dtype == object
    assert drawn.shape == (3,)


def test_minus_zero_is_not_a_second_zero(scripted) -> None:
    blocks = geometric_blocks(Fraction(64))
    inside_zero = (65535).to_bytes(2, "little")
    accept = bytes(4)
    zero = blocks.propose(1, scripted(inside_zero + bytes(8) + accept))
    minus_zero = blocks.propose(1, scripted(inside_zero + bytes(7) + b"\x80" + accept))
    assert zero.tolist() == [0]
    assert minus_zero.tolist() == []


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", ["0.1", 0.1, "1/3", Fraction(10**9, 3), 2**56, 10**12, "0.001"])
@pytest.mark.parametrize("size", [0, 1, 5, 70_000])
def test_shape_and_type(sampler, scale, size: int) -> None:
    drawn = sampler(scale, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert drawn.flags.writeable


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "scale", [0, -1, float("nan"), float("inf"), 1e-4, 1e20, True, "abc", None, 2**56 + 1, "1e4000", "-1e4000"]
)
def test_bad_scales_are_refused(sampler, scale) -> None:
    with pytest.raises(ParameterError, match=r"scale|sigma"):
        sampler(scale, 1)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_are_independent_of_each_other(sampler) -> None:
    """Neighbouring draws' signs agree half the time: off by 7 standard deviations with probability below 3e-12."""
    signs = np.sign(sampler(10**9, 100_000))
    assert abs(float((signs[1:] * signs[:-1]).sum())) < 7 * np.sqrt(100_000)
