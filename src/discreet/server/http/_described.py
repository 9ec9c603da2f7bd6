"""Plans, budgets, charges and requests as the API's JSON."""

from __future__ import annotations

import json
from typing import Any

from discreet.policy import Policy
from discreet.privacy import Loss, to_json
from discreet.server.desk import AuditEntry, Basket, Budget, BudgetRequest, EarlierAnswer, Quote

__all__ = [
    "basket_json",
    "budget_json",
    "charge_json",
    "log_json",
    "loss_json",
    "policy_json",
    "quote_json",
    "request_json",
]


def loss_json(loss: Loss | None) -> dict[str, Any] | None:
    """A loss, or null."""
    return None if loss is None else to_json(loss)


def quote_json(quote: Quote) -> dict[str, Any]:
    """A plan: what the question would cost and answer, and which answers exist."""
    return {
        "id": quote.id,
        "columns": [
            {
                "name": column.name,
                "type": str(column.type),
                "noisy": column.noisy,
                "error": column.error,
                "approximate": column.approximate,
            }
            for column in quote.columns
        ],
        "loss": loss_json(quote.loss),
        "price": loss_json(quote.price),
        "words": quote.words,
        "answers": [_earlier_json(each) for each in quote.answers],
    }


def _earlier_json(each: EarlierAnswer) -> dict[str, Any]:
    errors = {name: half if half < float("inf") else None for name, half in each.errors.items()}
    at = each.at.isoformat()
    return {"id": each.id, "loss": to_json(each.loss), "at": at, "errors": errors, "shared": each.shared}


def basket_json(basket: Basket) -> dict[str, Any]:
    """Several plans and their one price."""
    return {"price": loss_json(basket.price), "plans": [quote_json(each) for each in basket.quotes]}


def budget_json(budget: Budget) -> dict[str, Any]:
    """What may be spent, was spent, and is left."""
    return {name: to_json(getattr(budget, name)) for name in ("cap", "spent", "remaining")}


def charge_json(logged: Any, *, account: bool) -> dict[str, Any]:
    """A charge with its question, and whose it is for those who may know."""
    charge = logged.charge
    whose = {"account": charge.account} if account else {}
    return whose | {
        "id": charge.plan_hash,
        "at": charge.at.isoformat(),
        "loss": loss_json(charge.loss),
        "question": logged.question,
        "answered": logged.answered,
        "version": logged.version,
    }


def request_json(request: BudgetRequest) -> dict[str, Any]:
    """A request for budget."""
    return {
        "number": request.number,
        "account": request.account,
        "spend": to_json(request.loss),
        "reason": request.reason,
        "at": request.at,
        "state": request.state,
    }


def log_json(entry: AuditEntry) -> dict[str, Any]:
    """A line of the desk's log."""
    return {
        "seq": entry.seq,
        "at": entry.at,
        "account": entry.account,
        "act": entry.act,
        "data": dict(entry.data),
        "hash": entry.hash,
    }


def policy_json(policy: Policy) -> dict[str, Any]:
    """The public facts, as they stand in the policy; exact numbers are text."""
    content: dict[str, Any] = json.loads(json.dumps(policy.model_dump(exclude_none=True), default=str))
    return {**content, "digest": policy.digest()}
