"""What a server answers beside releases: plans, budgets and charges, read without trusting any of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from discreet.errors import DiscreetError, LedgerError, printable
from discreet.privacy import Loss, from_json

__all__ = ["Budget", "Charge", "EarlierAnswer", "PlanColumn", "RemotePlan", "read"]

_T = TypeVar("_T")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError, DiscreetError)


def read(content: Mapping[str, Any], parse: Callable[[Mapping[str, Any]], _T]) -> _T:
    """What `parse` makes of an answer. Raises `LedgerError` for what it cannot."""
    try:
        return parse(content)
    except _MALFORMED:
        raise LedgerError(
            "the server's answer cannot be read: it may be of another version, or no discreet server"
        ) from None


def _loss(content: object) -> Loss | None:
    return None if content is None else from_json(content)


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column of an answer: its type, whether it has noise, and its error where that is known beforehand.

    `error` is the half-width of its interval; None where it depends on the data, and for keys.
    """

    name: str
    type: str
    noisy: bool
    error: float | None
    approximate: bool


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer to the same question that exists and is free: its loss, and for each column its largest error."""

    id: str
    loss: Loss
    at: datetime
    errors: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """What a question would cost and answer.

    Attributes
    ----------
    loss
        What the answer loses. None for a plan without a spend.
    price
        What would be charged for it now: None where an answer exists, which is free.
    remaining
        What the account has left.
    answers
        Answers to the same question that exist, at any spend.
    """

    columns: tuple[PlanColumn, ...]
    loss: Loss | None
    price: Loss | None
    remaining: Loss | None
    answers: tuple[EarlierAnswer, ...]
    words: str

    def explain(self) -> str:
        """What the plan does, in words and one line for each output column."""
        return self.words

    def __str__(self) -> str:
        return self.words

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RemotePlan:
        """The plan in the server's JSON."""
        return cls(
            tuple(
                PlanColumn(
                    printable(each["name"]),
                    printable(each["type"]),
                    bool(each["noisy"]),
                    None if each["error"] is None else float(each["error"]),
                    bool(each["approximate"]),
                )
                for each in content["columns"]
            ),
            _loss(content["loss"]),
            _loss(content["price"]),
            _loss(content["remaining"]),
            tuple(
                EarlierAnswer(
                    printable(each["id"]),
                    from_json(each["loss"]),
                    datetime.fromisoformat(each["at"]),
                    {name: None if half is None else float(half) for name, half in each["errors"].items()},
                )
                for each in content["answers"]
            ),
            "\n".join(map(printable, content["words"].split("\n"))),
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """What an account may spend in its window, has spent, and has left."""

    cap: Loss
    spent: Loss
    remaining: Loss

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Budget:
        """The budget in the server's JSON."""
        return cls(from_json(content["cap"]), from_json(content["spent"]), from_json(content["remaining"]))


@dataclass(frozen=True, slots=True)
class Charge:
    """A question that was charged. `account` is whose it was, for those who may know; `id` is that of its answer."""

    id: str
    at: datetime
    loss: Loss | None
    question: str | None
    answered: bool
    account: str | None = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Charge:
        """The charge in the server's JSON."""
        question, account = content["question"], content.get("account")
        return cls(
            printable(content["id"]),
            datetime.fromisoformat(content["at"]),
            _loss(content["loss"]),
            None if question is None else "\n".join(map(printable, question.split("\n"))),
            bool(content["answered"]),
            None if account is None else printable(account),
        )
