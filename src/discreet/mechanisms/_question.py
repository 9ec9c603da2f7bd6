"""What is asked of a mechanism before anything is drawn: its loss under a policy, its identity, its certificate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms._parameters import told
from discreet.mechanisms._release import value_digest
from discreet.policy import Policy
from discreet.privacy import Loss, Relation, fits, in_currency, to_json
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["MechanismQuestion", "stated_loss", "wrong_relation"]


def stated_loss(mechanism: Any, sensitivity: Any) -> Loss:
    """What its `loss` says, given a sensitivity that is not `None`.

    Raises `ParameterError` if it has no `loss`, if the sensitivity is missing or one too many, or for what is no loss.
    """
    told, kind = getattr(mechanism, "loss", None), type(mechanism).__name__
    if not callable(told) or not callable(getattr(mechanism, "release", None)):
        raise ParameterError(
            f"{kind} is no mechanism: it needs loss() and release(value), as those of discreet.mechanisms have"
        )
    takes = signature(told).parameters.values()
    if sensitivity is None and any(each.default is each.empty for each in takes):
        raise ParameterError(
            f"say how far neighbours' values are apart, which the loss of {kind} depends on: for example sensitivity=1"
        )
    if sensitivity is not None and not takes:
        raise ParameterError(f"{kind} holds its own sensitivity; leave sensitivity= out")
    loss = told() if sensitivity is None else told(sensitivity)
    if not isinstance(loss, Loss):
        raise ParameterError(f"loss() of a mechanism must be a loss, got {type(loss).__name__}")
    return loss


def wrong_relation(mechanism: Any, loss: Loss, relation: object) -> Relation | None:
    """The neighbour relation that a mechanism's loss is for, if it is another one than `relation`; None if it is not.

    A loss or a mechanism may name its relation. One that takes utilities or counts as `monotone` is for add/remove: a
    person who comes moves all of them up, one who is replaced moves some up and others down.
    """
    named: list[Relation | None] = [loss.relation, getattr(mechanism, "relation", None)]
    if any(_is_monotone(mechanism)):
        named.append("add_remove")
    return next((each for each in named if each is not None and each != relation), None)


def _is_monotone(mechanism: Any) -> Iterator[bool]:
    """Of a mechanism and those that it is made of."""
    yield bool(getattr(mechanism, "monotone", False))
    if is_dataclass(mechanism) and not isinstance(mechanism, type):
        for each in fields(mechanism):
            yield from _is_monotone(getattr(mechanism, each.name))


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
