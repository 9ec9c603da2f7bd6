"""For which neighbours a mechanism's loss holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from discreet.privacy import Loss, Relation

__all__ = ["wrong_relation"]


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
