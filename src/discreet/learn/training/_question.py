"""Training as a question: what is asked in public, and what it costs; its steps are a run of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import inputs_of_plan, rows_asked
from discreet.learn._inputs import Inputs
from discreet.learn.correlated import CorrelatedGaussian
from discreet.learn.training._mechanism import mechanism_to_json
from discreet.learn.training._network import Network
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.query import Feature, RecordPlan
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["PreparedTraining", "Training"]


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
class PreparedTraining(PreparedQuestion):
    """A training that was checked; see `discreet.release.Prepared`."""

    kind = "network"

    question: Training
    inputs: Inputs
    policy: Policy
    loss: Loss

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        question = self.question
        return {
            **rows_asked(question.plan, question.label),
            "noise": mechanism_to_json(question.mechanism),
            **question.settings,
        }

    @property
    def stated(self) -> dict[str, Any]:
        """What a certificate says of the question."""
        plan = self.question.plan
        return {**super().stated, "query": plan.sql, "unit": plan.rows.bounded.unit or "rows"}

    def answer(self, context: ReleaseContext) -> Network:  # noqa: ARG002
        """Always refused: its steps are asked one by one. Raises `LedgerError`."""
        raise LedgerError("training is answered in steps: use learn.Private or learn.Trainer")

    def read(self, payload: bytes) -> Network:
        """Restore a stored network. Raises `LedgerError` if the bytes are none."""
        return Network.from_bytes(payload)
