"""One audit that the library makes of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.audit.black_box._check import Pair, check
from discreet.audit.black_box._subject import Draws, subject
from discreet.audit.black_box._verdict import Verdict
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.query import Marginals
from discreet.rational import Number
from discreet.release import ReleaseContext

__all__ = ["Entry", "counting_context"]


@dataclass(frozen=True)
class Entry:
    """A mechanism, neighbouring inputs that try it hardest, and the loss that it claims for them.

    name: unique. group: the table's heading for it. shown: the code, or the query, that makes it.
    mechanism: what `check` takes. pairs: neighbouring inputs on which the claim is attained, or nearly.
    claim: the loss; delta: where ε is told, if not at the δ of the claim.
    kind: the class, None for what is not one mechanism.
    samples: how many outputs tell most of what can be told, over both inputs.
    note: why these inputs, and what keeps an audit below the claim.
    """

    name: str
    group: str
    shown: str
    mechanism: Any
    pairs: tuple[Pair, ...]
    claim: Loss
    delta: Number | None = None
    kind: type | None = None
    samples: int = 200_000
    note: str = ""

    @cached_property
    def draws(self) -> Draws:
        """The mechanism, as something to draw outputs from."""
        return subject(self.mechanism)

    def once(self, data: Any) -> Any:
        """One output on the data."""
        return self.draws.draw(data, 1)[0]

    def check(
        self,
        *,
        samples: int | None = None,
        confidence: Number = 0.95,
        progress: Callable[[int, int], object] | None = None,
    ) -> Verdict:
        """The mechanism held to its claim, from its own number of outputs or another. Costs no privacy.

        Raises `ParameterError` as `discreet.audit.check` does.
        """
        return check(
            self.mechanism,
            self.pairs,
            self.claim,
            samples=self.samples if samples is None else samples,
            confidence=confidence,
            delta=self.delta,
            progress=progress,
        )


def counting_context(policy: Policy, counts: Callable[[Marginals], Any]) -> ReleaseContext:
    """What a question is answered in where rows are only counted, as `counts` says; certificates are not signed."""

    def unasked(*_: Any) -> Any:
        raise NotImplementedError

    return ReleaseContext(policy, unasked, lambda request, _: counts(request), dict)
