"""The shares that two servers publish, and the totals that these add up to."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from discreet.errors import DataError
from discreet.local._estimate import exact_level
from discreet.local._reports import FINGERPRINT
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.rational import Number, rational

__all__ = ["BATCH", "PublishedShare", "Total"]

BATCH = 32
"""Bytes that name a set of reports."""

_MAGIC = b"dp\x01"
_HEAD = len(_MAGIC) + FINGERPRINT + BATCH + 8
_VALUE = 16
_SMALL = 32


@dataclass(frozen=True, slots=True)
class PublishedShare:
    """One server's share of the totals, with its noise: public. Alone it says nothing.

    Attributes
    ----------
    fingerprint
        Which scheme, and which of its servers.
    batch
        Which reports: SHA-256 of their sorted nonces.
    reports
        How many.
    values
        The share of each total, modulo the scheme's prime.
    """

    fingerprint: bytes
    batch: bytes
    reports: int
    values: tuple[int, ...]

    def __bytes__(self) -> bytes:
        values = b"".join(value.to_bytes(_VALUE, "little") for value in self.values)
        body = b"".join((_MAGIC, self.fingerprint, self.batch, self.reports.to_bytes(8, "little"), values))
        return body + zlib.crc32(body).to_bytes(4, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> PublishedShare:
        """The share that `bytes(share)` made. Raises `DataError` for anything else."""
        body = data[:-4]
        if body[: len(_MAGIC)] != _MAGIC or len(body) < _HEAD + _VALUE or (len(body) - _HEAD) % _VALUE:
            raise DataError("this is not what a server published: its length or its first bytes differ")
        if zlib.crc32(body) != int.from_bytes(data[-4:], "little"):
            raise DataError("this share was damaged on its way: its checksum does not match; fetch it again")
        at = len(_MAGIC) + FINGERPRINT
        values = [int.from_bytes(body[i : i + _VALUE], "little") for i in range(_HEAD, len(body), _VALUE)]
        reports = int.from_bytes(body[at + BATCH : _HEAD], "little")
        return cls(body[len(_MAGIC) : at], body[at : at + BATCH], reports, tuple(values))


@dataclass(frozen=True, slots=True)
class Total:
    """Totals over all reports of a batch, with the noise of two servers. They follow from published shares alone.

    Attributes
    ----------
    values
        The totals: one for each value of a domain, in its order, or one in all. Unbiased; they can be below 0.
    reports
        How many reports there were. Exact, and public.
    noise
        What each of the two servers added to each total.
    """

    values: tuple[int, ...]
    reports: int
    noise: DiscreteLaplace | DiscreteGaussian

    @property
    def std(self) -> float:
        """The standard deviation of a total's noise: √2 times that of one server's."""
        return math.sqrt(2) * self.noise.std

    def error(self, level: Number = 0.95) -> int:
        """The least k such that a total's noise is within ±k with probability at least `level`, or one more.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < level < 1.
        Source: for two discrete Laplace noises, P(|X + Y| > k) in closed form; for Gaussian ones by convolution below
        sigma 32 and by N(0, 2 sigma²) above; ``proofs/two_servers.md``, section 5.
        """
        exact_level(level)  # raises for a level outside (0, 1)
        miss = float(1 - rational(level, "level")) * (1 - 1e-9)
        if isinstance(self.noise, DiscreteLaplace):
            return _laplace_error(float(self.noise.scale), miss)
        return _gaussian_error(float(self.noise.sigma), miss)


def _laplace_error(scale: float, miss: float) -> int:
    rate, q = 1 / scale, math.exp(-1 / scale)
    gap = -math.expm1(-rate)  # 1 − q
    centre = (gap / (1 + q)) ** 2

    def tail(k: int) -> float:
        more = k + 2 + 2 * q * q / (gap * (1 + q)) + q / gap
        return 2 * centre * math.exp(-(k + 1) * rate) / gap * more

    high = 1
    while tail(high) > miss:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= miss else (middle, high)
    return high


def _gaussian_error(sigma: float, miss: float) -> int:
    if sigma >= _SMALL:
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        return math.ceil(-float(ndtri(miss / 2)) * sigma * math.sqrt(2) * (1 + 1e-9))
    reach = math.ceil(39 * sigma)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    both = np.convolve(weights, weights)
    one_side = np.cumsum(both[::-1])[: 2 * reach] / both.sum()  # P(X + Y ≥ 2 reach − i)
    return int(2 * reach - np.searchsorted(2 * one_side, miss, side="right"))
