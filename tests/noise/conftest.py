"""Bit sources that tests can predict. They live here and nowhere in `src/`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from discreet.noise._source import BitSource


class SeededBits:
    """A stream that depends on a seed alone."""

    def __init__(self, seed: int) -> None:
        self.seed, self.calls = seed, 0

    def take(self, nbytes: int) -> bytes:
        self.calls += 1
        return hashlib.shake_256(f"{self.seed}/{self.calls}".encode()).digest(nbytes)


class ScriptedBits:
    """Given bytes first, then a stream."""

    def __init__(self, script: bytes, then: BitSource) -> None:
        self.script, self.then = script, then

    def take(self, nbytes: int) -> bytes:
        head, self.script = self.script[:nbytes], self.script[nbytes:]
        return head + self.then.take(nbytes - len(head))


@pytest.fixture
def seeded() -> Callable[[int], BitSource]:
    return SeededBits


@pytest.fixture
def scripted() -> Callable[[bytes], BitSource]:
    return lambda script: ScriptedBits(script, SeededBits(0))
