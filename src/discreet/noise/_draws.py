"""Several draws from one stream: a fresh one, or the one that a secret remembers.

A client that must give the same answer to the same question again, on another day or after a restart, keeps one
secret and no answers: the bits of each answer are a pseudorandom function of the secret and the question.
"""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise._bernoulli import bernoulli_from, quick_bernoulli_from
from discreet.noise._source import BitSource, RememberedBits, SecureBits
from discreet.noise._uniform import packed_subsets_from, words_below

__all__ = ["LEAST_SECRET", "Draws", "derived_secret", "fresh_draws", "remembered_draws"]

LEAST_SECRET = 16
"""The fewest bytes of a secret."""

_CHUNK = 1 << 18


class Draws:
    """Exact draws, all from one stream of bits. Make one with `fresh_draws` or `remembered_draws`."""

    __slots__ = ("_source",)

    def __init__(self, source: BitSource) -> None:
        self._source = source

    def coins(self, p: Fraction, size: int) -> NDArray[np.bool_]:
        """`size` independent decisions, each true with probability exactly `p`, from 0 to 1."""
        return bernoulli_from(p, size, self._source)

    def steps(self, thresholds: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """A decision for each threshold, true with probability threshold / 2**32 exactly; thresholds up to 2**32."""
        return np.frombuffer(self._source.take(4 * thresholds.size), dtype="<u4") < thresholds

    def below(self, n: int, size: int) -> NDArray[np.int64]:
        """`size` independent integers, each uniform on 0 … n − 1, exactly, for n from 1 to 2**63."""
        return words_below(n, size, self._source)

    def packed_coins(self, p: Fraction, rows: int, bits: int) -> NDArray[np.uint8]:
        """`rows` rows of `bits` independent decisions as `coins`, eight to a byte, the least bit first.

        The shape is (rows, ⌈bits/8⌉); what is left of a row's last byte is 0. One byte of the stream settles a
        decision, but for one in 256: proof in ``proofs/noise.md``, section 7.
        """
        width = -(-bits // 8)
        packed = np.empty((rows, width), dtype=np.uint8)
        if p == Fraction(1, 2):
            packed[:] = np.frombuffer(self._source.take(rows * width), dtype=np.uint8).reshape(rows, width)
            if bits % 8:
                packed[:, -1] &= (1 << bits % 8) - 1
            return packed
        step = max(1, _CHUNK // max(bits, 1))
        for start in range(0, rows, step):
            some = min(step, rows - start)
            drawn = quick_bernoulli_from(p, some * bits, self._source).reshape(some, bits)
            packed[start : start + some] = np.packbits(drawn, axis=1, bitorder="little")
        return packed

    def packed_subsets(self, n: int, size: int, rows: int) -> NDArray[np.uint8]:
        """`rows` independent subsets of 0 … n − 1, of `size` members each, from 0 to n: all equally likely, exactly.

        A row has bit i at 1 if i is a member, packed as in `packed_coins`. Four bytes of the stream for each of the n
        numbers of a row: proof in ``proofs/noise.md``, section 7.
        """
        return packed_subsets_from(n, size, rows, self._source)


def fresh_draws() -> Draws:
    """Draws from a fresh stream, which nobody can repeat.

    Costs no privacy by itself. Source: as `uniform64`.

    >>> fresh_draws().coins(Fraction(1), 2)
    array([ True,  True])
    """
    return Draws(SecureBits())


def remembered_draws(secret: bytes, label: bytes) -> Draws:
    """Draws that are the same whenever the secret and the label are: a client's memory of what it drew for a label.

    Costs no privacy by itself; who does not know the secret cannot tell the draws of different labels from fresh ones
    (as AES and HMAC are pseudorandom). The stream will not change in later versions, since a client that drew anew
    would reveal more. Raises `ParameterError` for a secret of fewer than 16 bytes.
    Source: RFC 2104 (HMAC-SHA-256 of the label) keys AES-256 in counter mode, NIST SP 800-38A.

    >>> secret = bytes(range(32))
    >>> bool((remembered_draws(secret, b"city").below(9, 5) == remembered_draws(secret, b"city").below(9, 5)).all())
    True
    """
    return Draws(RememberedBits(_keyed(secret, b"discreet remembered draws 1\0" + label)))


def derived_secret(secret: bytes, label: bytes) -> bytes:
    """A secret of 32 bytes for one of several purposes: the same whenever the secret and the label are.

    Costs no privacy by itself; who does not know the secret cannot tell those of different labels, and the draws that
    are remembered with them, from fresh ones. They will not change in later versions. Raises `ParameterError` for a
    secret of fewer than 16 bytes. Source: RFC 2104 (HMAC-SHA-256 of the label).

    >>> derived_secret(bytes(32), b"one") == derived_secret(bytes(32), b"two")
    False
    """
    return _keyed(secret, b"discreet derived secret 1\0" + label)


def _keyed(secret: bytes, message: bytes) -> bytes:
    if not isinstance(secret, bytes) or len(secret) < LEAST_SECRET:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"a secret is bytes, {LEAST_SECRET} or more; make one with discreet.noise.secret(32)")
    return hmac.digest(secret, message, hashlib.sha256)
