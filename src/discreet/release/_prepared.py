"""A prepared question whose hash and certificate are of the same few public terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from discreet.policy import Policy
from discreet.privacy import Loss, to_json
from discreet.release._digest import json_digest

__all__ = ["PreparedQuestion"]

_FORMAT = 1


class PreparedQuestion(ABC):
    """A question that was checked, but for how it is answered and read; see `Prepared`.

    Asked again it is served from the ledger. A kind says what it asks beside the policy's terms.

    Attributes
    ----------
    kind
        The ``"kind"`` in its certificate.
    policy, loss
        Under which policy it is asked, and what is charged.
    """

    kind: ClassVar[str]
    policy: Policy
    loss: Loss
    fresh: bool = False
    counts: Literal["people", "edges", "arcs"] = "people"

    @property
    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """What the distribution of the answer depends on beside the policy and the loss, in plain JSON."""

    @property
    def public(self) -> dict[str, Any]:
        """What the distribution of the answer depends on, in plain JSON."""
        return {"format": _FORMAT, **self.asked, **self._terms}

    @property
    def hash(self) -> str:
        """SHA-256 of `public`."""
        return json_digest(self.public)

    @property
    def stated(self) -> dict[str, Any]:
        """What its certificate says of the question, whatever is asked."""
        return {**self._terms, "plan": self.hash, "relation": self.policy.relation}

    @property
    def _terms(self) -> dict[str, Any]:
        policy = self.policy
        return {
            "kind": self.kind,
            "policy": policy.digest(),
            "version": policy.version,
            "loss": to_json(self.loss),
        }
