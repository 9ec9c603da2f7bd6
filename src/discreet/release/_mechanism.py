"""A mechanism of `discreet.mechanisms`, or one of the caller's, as a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from discreet.errors import ParameterError
from discreet.mechanisms import stated_loss, wrong_relation
from discreet.policy import Policy
from discreet.privacy import Loss, Relation, fits, in_currency, to_json
from discreet.rational import Number
from discreet.release._digest import json_digest
from discreet.release._kinds import ReleaseKind, register
from discreet.release._mechanism_loss import recompute_mechanism_loss, verify_mechanism_loss
from discreet.release._mechanism_release import MechanismRelease, mechanism_digests, value_digest
from discreet.release._parameters import parameters_to_json
from discreet.release._question import ReleaseContext, Terms
from discreet.sensitivity import Norms

__all__ = ["MechanismQuestion", "PreparedMechanism"]

_FORMAT = "mechanism/1"

Counts = Literal["people", "edges", "arcs"]


@dataclass(frozen=True, slots=True)
class MechanismQuestion:
    """A mechanism on a value of the owner's, who vouches for the sensitivity; see `discreet.Session.release`.

    All of it is public but the value, which enters neither the loss nor the hash nor the certificate.
    """

    mechanism: Any
    value: Any = field(repr=False)
    sensitivity: Number | Norms | None = None
    spend: Loss | None = None
    name: str | None = None

    def prepare(self, terms: Terms) -> PreparedMechanism:
        """The mechanism with its loss in the ledger's currency.

        Raises `ParameterError` for what is no mechanism, for a loss that cannot be charged or is for other neighbours,
        and for a name with a mechanism whose parameters do not identify it.
        """
        loss = self._loss(terms.policy.relation, terms.currency)
        counts = _counted_by(self.mechanism)
        return PreparedMechanism(self, loss, self._public(terms.policy, loss, counts), counts)

    def _loss(self, relation: Relation, currency: str) -> Loss:
        """What to charge: the mechanism's loss in a currency, or the spend if the loss is within it."""
        stated = stated_loss(self.mechanism, self.sensitivity)
        other = wrong_relation(self.mechanism, stated, relation)
        if other is not None:
            raise ParameterError(
                f"the policy protects against neighbours by {relation}, and this mechanism's loss is for {other}; "
                f"make it for the other one, for example with relation={relation!r}, or with monotone=False if it is "
                "monotone"
            )
        if self.spend is not None:
            if not fits(stated, self.spend):
                raise ParameterError(
                    "this mechanism is not known to cost no more than the spend; spend more, calibrate it to the "
                    "spend, or leave the spend out to be charged what it costs"
                )
            return self.spend
        return in_currency(stated, currency)

    def _public(self, policy: Policy, loss: Loss, counts: Counts) -> dict[str, Any]:
        return {
            "name": self.name,
            "mechanism": parameters_to_json(self.mechanism, named=self.name is not None),
            "sensitivity": parameters_to_json(self.sensitivity, named=self.name is not None),
            "policy": policy.digest(),
            "version": policy.version,
            "relation": policy.relation,
            "loss": to_json(loss),
            **({} if counts == "people" else {"counts": counts}),
        }


def _counted_by(mechanism: Any) -> Counts:
    """What a ledger must count for a mechanism: people, unless its class says edges or arcs as `ledger_counts`.

    Raises `ParameterError` if it says anything else.
    """
    stated = cast("Counts", getattr(type(mechanism), "ledger_counts", "people"))
    if stated not in get_args(Counts):
        raise ParameterError(f"ledger_counts of a mechanism is 'people', 'edges' or 'arcs', got {stated!r}")
    return stated


@dataclass(frozen=True, slots=True)
class PreparedMechanism:
    """A mechanism that was checked, with its loss and what its certificate states before anything is drawn."""

    question: MechanismQuestion
    loss: Loss
    public: Mapping[str, Any]
    counts: Counts = "people"

    @property
    def fresh(self) -> bool:
        """Without a name every release pays."""
        return self.question.name is None

    @property
    def hash(self) -> str:
        """SHA-256 of all that is asked, with the policy's digest and version label: equal questions, equal hashes."""
        return json_digest({"format": _FORMAT, **self.public})

    def answer(self, context: ReleaseContext) -> MechanismRelease:
        """Run the mechanism. Raises `ParameterError` for a value that does not suit it, or that cannot be stored."""
        value = self.question.mechanism.release(self.question.value)
        certificate = context.certify(self.statement(value))
        return MechanismRelease(value, self.loss, certificate, self.question.mechanism)

    def statement(self, value: Any) -> dict[str, Any]:
        """What ran, in plain JSON without floats, with the digest of the value that was released.

        Where the noise is scaled to the data, the parameters are those of the rule, which are public. Raises
        `ParameterError` for a value that cannot be stored.
        """
        return {"kind": "mechanism", "plan": self.hash, **self.public, "answer": value_digest(value)}

    def read(self, payload: bytes) -> MechanismRelease:
        """Restore a stored release of this mechanism. Raises `LedgerError` if the bytes are none."""
        return MechanismRelease.from_bytes(payload, self.question.mechanism)


MECHANISM = register(
    ReleaseKind(
        "mechanism", MechanismRelease.from_bytes, mechanism_digests, recompute_mechanism_loss, verify_mechanism_loss
    )
)
