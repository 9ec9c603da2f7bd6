"""What is asked of a mechanism before anything is drawn: its loss under a policy, its identity, its certificate."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms._mechanism_release import value_digest
from discreet.mechanisms._neighbours import wrong_relation
from discreet.mechanisms._stated_loss import stated_loss
from discreet.mechanisms._told import told
from discreet.policy import Policy
from discreet.privacy import Loss, Relation, fits, in_currency, to_json
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["MechanismQuestion"]

_FORMAT = "mechanism/1"


@dataclass(frozen=True, slots=True)
class MechanismQuestion:
    """A mechanism with what its loss depends on. All of it is public; the value comes later, and is not in it."""

    mechanism: Any
    sensitivity: Number | Norms | None
    spend: Loss | None
    name: str | None

    def loss(self, relation: Relation, currency: str) -> Loss:
        """What to charge: the mechanism's loss in a currency, or the spend if the loss is within it.

        Raises `ParameterError` if it is neither, or is for neighbours by another relation.
        """
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

    def hash(self, policy: Policy, loss: Loss) -> str:
        """SHA-256 of all that is asked, with the policy's digest and version label: equal questions, equal hashes."""
        content = {"format": _FORMAT, **self._asked(policy, loss)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def certificate(self, policy: Policy, loss: Loss, value: Any) -> dict[str, Any]:
        """What ran, in plain JSON without floats, with the digest of the value that was released.

        Where the noise is scaled to the data, the parameters are those of the rule, which are public. Raises
        `ParameterError` for a value that cannot be stored, and for a name with a mechanism that another could not be
        told from by its parameters.
        """
        asked = self._asked(policy, loss)
        return {"kind": "mechanism", "plan": self.hash(policy, loss), **asked, "answer": value_digest(value)}

    def _asked(self, policy: Policy, loss: Loss) -> dict[str, Any]:
        return {
            "name": self.name,
            "mechanism": told(self.mechanism, named=self.name is not None),
            "sensitivity": told(self.sensitivity, named=self.name is not None),
            "policy": policy.digest(),
            "version": policy.version,
            "relation": policy.relation,
            "loss": to_json(loss),
        }
