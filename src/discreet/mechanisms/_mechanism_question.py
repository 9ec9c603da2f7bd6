"""What is asked of a mechanism before anything is drawn: its loss under a policy, its identity, its certificate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms._stated import stated_loss
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
        for told in (stated.relation, getattr(self.mechanism, "relation", None)):
            if told is not None and told != relation:
                raise ParameterError(
                    f"the policy protects against neighbours by {relation}, and this mechanism's loss is for "
                    f"{told}; make it for the other one, for example with relation={relation!r}"
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
        content = {"format": _FORMAT, "version": policy.version, **self.certificate(policy, loss)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def certificate(self, policy: Policy, loss: Loss) -> dict[str, Any]:
        """What runs, in plain JSON."""
        return {
            "name": self.name,
            "mechanism": _told(self.mechanism),
            "sensitivity": None if self.sensitivity is None else _told(self.sensitivity),
            "policy": policy.digest(),
            "version": policy.version,
            "relation": policy.relation,
            "loss": to_json(loss),
        }


def _told(value: Any) -> Any:
    """A public parameter as plain JSON, with nothing lost that tells two mechanisms apart."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() | Fraction():
            return str(value)
        case type():
            return f"{value.__module__}.{value.__qualname__}"
        case tuple() | list():
            return [_told(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case Mapping():
            return {str(key): _told(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case Loss():
            return to_json(value)
        case _ if is_dataclass(value):
            return {
                "is": type(value).__qualname__,
                **{each.name: _told(getattr(value, each.name)) for each in fields(value)},
            }
        case _ if hasattr(value, "__qualname__"):
            return f"{value.__module__}.{value.__qualname__}"
        case _:
            return repr(value)
