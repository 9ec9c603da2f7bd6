"""Run a fit on one table, and again on another with the outputs of all mechanisms as they were on the first.

A fit is private if it is a public function of the outputs of mechanisms, each of which is charged for how far one
person moves what it is given. Both can be seen by replaying: given the same outputs, everything but what mechanisms
are given must be the same, on whatever table; and on neighbours what they are given moves by no more than is charged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import discreet as dp
from discreet import mechanisms, noise
from discreet.privacy import Loss, in_currency
from discreet.release import BaseRelease
from discreet.sensitivity import Norms
from discreet.session import Session

ADDITIVE = (mechanisms.DiscreteLaplace, mechanisms.DiscreteGaussian, mechanisms.Gaussian)
CHOICES = (mechanisms.Exponential, mechanisms.PermuteAndFlip)
BESIDE = ("ledger", "position", "at", "signature")
"""What a certificate has from its ledger."""


@dataclass(frozen=True)
class Drawn:
    """One mechanism: what it was given, which is private, and what came out."""

    mechanism: Any
    given: list[Any]
    out: Any


@dataclass
class Transcript:
    """All that happened in one run."""

    drawn: list[Drawn] = field(default_factory=list)
    secrets: list[bytes] = field(default_factory=list)
    requests: list[tuple[Any, bytes]] = field(default_factory=list)
    release: BaseRelease | None = None

    @property
    def content(self) -> dict[str, Any]:
        """The release, but for what its ledger adds."""
        assert self.release is not None
        content = self.release.to_dict()
        certificate = {name: value for name, value in content["certificate"].items() if name not in BESIDE}
        return json.loads(json.dumps({**content, "certificate": certificate}))


class Engine:
    """An engine that notes what it is asked."""

    def __init__(self, engine: Any, requests: list[tuple[Any, bytes]]) -> None:
        self._engine, self._requests = engine, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def count_marginals(self, request: Any, salt: bytes) -> Any:
        self._requests.append((request, salt))
        return self._engine.count_marginals(request, salt)

    def run(self, request: Any, salt: bytes) -> Any:
        self._requests.append((request, salt))
        return self._engine.run(request, salt)


class Diverged(AssertionError):
    """The second run did something that the outputs of the first do not determine."""


@contextmanager
def _mechanisms(transcript: Transcript, earlier: Transcript | None) -> Iterator[None]:
    def released(kind: type, real: Callable[..., Any]) -> Callable[..., Any]:
        def release(self: Any, given: Any, *rest: Any) -> Any:
            place = len(transcript.drawn)
            if earlier is None:
                out = real(self, given, *rest)
            else:
                if place >= len(earlier.drawn) or self != earlier.drawn[place].mechanism:
                    raise Diverged(f"step {place} is {self}, and was another on the other table")
                if len(earlier.drawn[place].given) != len(list(given) if hasattr(given, "__iter__") else [given]):
                    raise Diverged("a mechanism was given another number of values on the other table")
                out = earlier.drawn[place].out
            transcript.drawn.append(Drawn(self, list(given) if hasattr(given, "__iter__") else [given], out))
            return out

        return release

    def secret(size: int) -> bytes:
        fresh = real_secret(size) if earlier is None else earlier.secrets[len(transcript.secrets)]
        transcript.secrets.append(fresh)
        return fresh

    real_secret = noise.secret
    with patch.object(noise, "secret", secret):
        patches = [patch.object(kind, "release", released(kind, kind.release)) for kind in (*ADDITIVE, *CHOICES)]
        for each in patches:
            each.start()
        try:
            yield
        finally:
            for each in patches:
                each.stop()


def run(
    ask: Callable[[Session], BaseRelease],
    tables: Mapping[str, pa.Table],
    policy: Mapping[str, Any],
    earlier: Transcript | None = None,
) -> Transcript:
    """Ask on tables; as `earlier` came out, if it is given."""
    transcript = Transcript()
    with dp.connect(dict(tables), dict(policy)) as session:
        session._engine = Engine(session._engine, transcript.requests)
        with _mechanisms(transcript, earlier):
            transcript.release = ask(session)
    return transcript


def check_same(one: Transcript, other: Transcript) -> None:
    """Nothing but what mechanisms were given differs."""
    if [each.mechanism for each in one.drawn] != [each.mechanism for each in other.drawn]:
        raise Diverged("other mechanisms ran on the other table")
    if [len(each.given) for each in one.drawn] != [len(each.given) for each in other.drawn]:
        raise Diverged("a mechanism was given another number of values on the other table")
    if one.requests != other.requests:
        raise Diverged("the engine was asked something else on the other table")
    if one.content != other.content:
        raise Diverged("the release is no function of what the mechanisms gave")


def check_given(transcript: Transcript) -> None:
    """Mechanisms are given whole numbers."""
    for each in transcript.drawn:
        if not all(type(value) is int for value in each.given):
            raise Diverged(f"{each.mechanism} was given numbers that are not whole")


def check_moves(one: Transcript, other: Transcript, norms: Norms) -> None:
    """What mechanisms were given differs by no more than they are charged for, if the tables are neighbours."""
    for first, second in zip(one.drawn, other.drawn, strict=True):
        moves = [abs(a - b) for a, b in zip(first.given, second.given, strict=True)]
        if isinstance(first.mechanism, CHOICES):
            if max(moves) > first.mechanism.sensitivity:
                raise Diverged(f"a score moved by {max(moves)}, and {first.mechanism} is charged for less")
        elif sum(moves) > norms.l1 or sum(move * move for move in moves) > norms.l2_squared:
            raise Diverged(f"counts moved by {sum(moves)}, beyond {norms}")


def lost(transcript: Transcript, norms: Norms, currency: str) -> Loss:
    """What the mechanisms that ran lose together, asked of themselves, in one currency."""
    losses = [
        each.mechanism.loss() if isinstance(each.mechanism, CHOICES) else each.mechanism.loss(norms)
        for each in transcript.drawn
    ]
    return in_currency(sum(losses[1:], losses[0]), currency)
