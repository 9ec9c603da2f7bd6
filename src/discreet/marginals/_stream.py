"""Numbers that anyone can compute again: a public function of a name, for rows that are drawn from a public model.

They are no noise and protect nobody. Source: AES in counter mode, keyed by the SHA-256 of the name.
"""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

__all__ = ["PublicStream"]


class PublicStream:
    """Uniform numbers from a public name; the same name gives the same ones.

    >>> PublicStream(b"a").uniform(2).tolist() == PublicStream(b"a").uniform(2).tolist()
    True
    """

    def __init__(self, name: bytes) -> None:
        key = hashlib.sha256(name).digest()
        self._keystream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def uniform(self, count: int) -> NDArray[np.float64]:
        """So many numbers, uniform on [0, 1) in steps of 2**-53."""
        words = np.frombuffer(self._keystream.update(bytes(8 * count)), np.uint64)
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def order(self, count: int) -> NDArray[np.int64]:
        """The numbers from 0 in a random order."""
        words = np.frombuffer(self._keystream.update(bytes(8 * count)), np.uint64)
        return np.argsort(words, kind="stable")
