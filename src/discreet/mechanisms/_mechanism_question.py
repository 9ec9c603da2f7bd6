"""What is asked of a mechanism before anything is drawn: its loss under a policy, its identity, its certificate."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms._stated_loss import stated_loss
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
        """What runs, in plain JSON.

        Raises `ParameterError` for a name with a mechanism that another could not be told from by its parameters.
        """
        return {
            "name": self.name,
            "mechanism": self._told(self.mechanism),
            "sensitivity": self._told(self.sensitivity),
            "policy": policy.digest(),
            "version": policy.version,
            "relation": policy.relation,
            "loss": to_json(loss),
        }

    def _told(self, value: Any) -> Any:
        """A public parameter as plain JSON, with nothing lost that tells two mechanisms apart."""
        match value:
            case None | bool() | int() | str():
                return value
            case float():
                return {"float": repr(value)}
            case Fraction():
                return {"number": str(value)}
            case tuple() | list():
                return [self._told(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
            case Loss():
                return to_json(value)
            case _ if _is_found_by_name(value):
                return _home(value)
            case _ if is_dataclass(value):
                parts = {each.name: self._told(getattr(value, each.name)) for each in fields(value)}
                return {"is": _home(type(value)), **parts}
            case _ if self.name is None:
                return {"is": _home(type(value))}
            case _:
                raise ParameterError(
                    f"under a name this could be taken for another mechanism, because a {type(value).__name__} does "
                    "not tell what it is; leave the name out, or take functions that are defined at the top of a "
                    "module, and mechanisms and statistics that are dataclasses"
                )


def _is_found_by_name(value: Any) -> bool:
    """Whether it is a function or a class at the top of a module: its name says which."""
    name = getattr(value, "__qualname__", None)
    return isinstance(name, str) and getattr(sys.modules.get(value.__module__), name, None) is value


def _home(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"
