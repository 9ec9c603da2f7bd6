"""Training as a question: what is asked in public, and what it costs; its steps are a run of the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import inputs_of_plan
from discreet.learn._inputs import Inputs
from discreet.learn.correlated import CorrelatedGaussian
from discreet.learn.training._mechanism import mechanism_to_json
from discreet.learn.training._network import Network
from discreet.policy import Policy
from discreet.privacy import Loss, to_json
from discreet.query import Feature, RecordPlan
from discreet.release import ReleaseContext, Terms

__all__ = ["PreparedTraining", "Training"]

_FORMAT = 1


@dataclass(frozen=True)
class Training:
    """A network trained on records for a spend, with public settings: a question that is answered in steps."""

    plan: RecordPlan
    label: Feature | None
    mechanism: CorrelatedGaussian
    spend: Loss
    settings: Mapping[str, Any]
    """All else that is public: the network, its first weights, the optimiser, clipping, arithmetic, a name."""

    def prepare(self, terms: Terms) -> PreparedTraining:
        """Check it under public terms. Raises `ParameterError` for what cannot be trained."""
        terms.accept(self.plan.rows.bounded)
        if terms.policy.relation != "add_remove":
            raise ParameterError("training is proved for neighbours by adding or removing one person alone")
        inputs = inputs_of_plan(self.plan, self.label)
        return PreparedTraining(self, inputs, terms.policy, self.spend)


@dataclass(frozen=True)
class PreparedTraining:
    """A training that was checked; see `discreet.release.Prepared`."""

    question: Training
    inputs: Inputs
    policy: Policy
    loss: Loss
    fresh: bool = False
    counts: Literal["people"] = "people"

    @property
    def public(self) -> dict[str, Any]:
        """What the distribution of the answer depends on, in plain JSON."""
        question = self.question
        return {
            "kind": "network",
            "format": _FORMAT,
            "query": question.plan.sql,
            "label": None if question.label is None else question.label.name,
            "noise": mechanism_to_json(question.mechanism),
            "policy": self.policy.digest(),
            "version": self.policy.version,
            "loss": to_json(self.loss),
            **question.settings,
        }

    @property
    def stated(self) -> dict[str, Any]:
        """What a certificate says of the question."""
        return {
            "plan": self.hash,
            "query": self.question.plan.sql,
            "policy": self.policy.digest(),
            "version": self.policy.version,
            "unit": self.question.plan.rows.bounded.unit or "rows",
        }

    @property
    def hash(self) -> str:
        """SHA-256 of `public`."""
        return hashlib.sha256(json.dumps(self.public, sort_keys=True).encode()).hexdigest()

    def answer(self, context: ReleaseContext) -> Network:  # noqa: ARG002
        """Always refused: its steps are asked one by one. Raises `LedgerError`."""
        raise LedgerError("training is answered in steps: use learn.Private or learn.Trainer")

    def read(self, payload: bytes) -> Network:
        """Restore a stored network. Raises `LedgerError` if the bytes are none."""
        return Network.from_bytes(payload)
