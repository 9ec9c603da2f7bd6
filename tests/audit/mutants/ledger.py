"""Mistakes in the session and the ledger: answers that nobody paid for, and repeats that tell what changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from discreet.combined import Statement
from discreet.errors import LedgerError
from discreet.ledger import Reservation
from discreet.ledger import _accounts as sql
from discreet.ledger._claims import Claims
from discreet.ledger.log import _rows as rows
from discreet.ledger.state import _account as accounts
from discreet.privacy import Loss, PureLoss, approx, parts, pure
from discreet.release import MechanismQuestion, Terms
from discreet.session import Session
from mutants import _scripts as scripts
from mutants._analyst import Analyst, Desk, Seen
from mutants._databases import hidden
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_Ledger = sql.AccountLedger
_charged, _tip = accounts.Account.charged, rows.tip
_find, _reserve, _commit, _seal = _Ledger.find, _Ledger.reserve, _Ledger.commit, Claims.seal
_prepare, _release, _loss = Statement.prepare, Session.release, MechanismQuestion._loss


def _taken_up(self: Any, plan_hash: str, loss: Loss, **request: Any) -> Any:
    """A reservation of this plan that has no release is given out again."""
    told = list(self.entries())
    done = {each.reservation for each in told if each.kind == "release"}
    for each in told:
        if each.kind == "reserve" and each.plan_hash == plan_hash and each.reservation not in done:
            self._claims.add(each.hash)
            return Reservation(told[0].hash, each.hash, self.account, plan_hash, each.loss, each.at)
    return _reserve(self, plan_hash, loss, **request)


def _given_back(self: Any, reservation: Reservation, payload: bytes) -> Any:
    try:
        return _commit(self, reservation, payload)
    except LedgerError:
        self._free = True
        raise


def _free_once(self: Any, plan_hash: str, loss: Loss, **request: Any) -> Any:
    """After a release that was not stored nothing is charged."""
    charged = _forgotten if self.__dict__.pop("_free", False) else _charged
    with patch.object(accounts.Account, "charged", charged):
        return _reserve(self, plan_hash, loss, **request)


def _forgotten(self: Any, loss: Loss, part: str | None) -> Any:
    return self


def _any_payload(self: Any, name: str, *payload: bytes, **options: Any) -> bytes:
    self._open[name].tried.clear()
    return _seal(self, name, *payload, **options)


def _free_again(self: Any, plan_hash: str, loss: Loss, **request: Any) -> Any:
    """A plan that has a release is charged nothing, and drawn anew."""
    return _reserve(
        self, plan_hash, PureLoss(Fraction(0)) if _find(self, plan_hash) else loss, **request | {"fresh": True}
    )


def _own_charges(self: Any, plan_hash: str, loss: Loss, **request: Any) -> Any:
    """The budget is held against what this object has charged."""
    mine = self.__dict__.setdefault("_mine", [])

    def within(_: Loss, budget: Loss) -> bool:
        return sum(mine) + parts(loss)[0] <= parts(budget)[0]

    with patch.object(accounts, "within", within):
        found = _reserve(self, plan_hash, loss, **request)
    mine.append(parts(loss)[0])
    return found


def _with_content(self: Statement, terms: Terms) -> Any:
    """The data enter the hash of a plan."""
    prepared = _prepare(self, terms)
    plan = replace(prepared.plan, sql=f"{prepared.plan.sql} of {terms.accept.__self__.rows}")  # type: ignore[attr-defined]
    return replace(prepared, plan=plan, hash=plan.hash(terms.policy))


def _with_value(self: Session, mechanism: Any, value: Any, *, name: str | None = None, **stated: Any) -> Any:
    return _release(self, mechanism, value, name=None if name is None else f"{name} {value}", **stated)


def _most_delta(self: Any, loss: Loss, part: str | None) -> Any:
    after = _charged(self, loss, part)
    return replace(after, common=approx(parts(after.common)[0], max(parts(self.common)[1], parts(loss)[1])))


def _rounded_down(spent: Loss, budget: Loss) -> bool:
    return all(math.floor(a) <= b for a, b in zip(parts(spent), parts(budget), strict=True))


def _at_sensitivity_1(self: MechanismQuestion, relation: Any, name: str) -> Loss:
    return _loss(replace(self, sensitivity=1), relation, name)


def _mutant(
    name: str,
    why: str,
    *changes: tuple[Any, str, Any],
    script: Callable[[Desk], list[Seen]],
    true_epsilon: float,
    pair: tuple[tuple[int, ...], tuple[int, ...]] = ((6,), (5,)),
    budget: Loss | None = None,
    samples: int = 1_000,
    slow: bool = False,
) -> Mutant:
    """The claim is the budget: all that is ever seen is within it."""
    budget = pure(1) if budget is None else budget
    return Mutant(
        f"ledger: {name}",
        why,
        patched(*changes),
        lambda: Analyst(script, budget),
        pair,
        budget,
        true_epsilon,
        samples=samples,
        slow=slow,
    )


MUTANTS = (
    _mutant(
        "a reservation is redrawn after a crash",
        "A release that died before it was stored is drawn again at no cost, as often as it dies.",
        (_Ledger, "reserve", _taken_up),
        script=lambda desk: scripts.through_crashes(desk, [0] * 4),
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "a crash gives the charge back",
        "What could not be stored is not charged, though its noise was drawn.",
        (_Ledger, "commit", _given_back),
        (_Ledger, "reserve", _free_once),
        script=lambda desk: scripts.through_crashes(desk, range(4)),
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "a second draw is stored for one reservation",
        "After a failure of the disk other bytes are taken than those that failed.",
        (Claims, "seal", _any_payload),
        script=scripts.stored_again,
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "repeats keyed on content",
        "A question is answered from the ledger as long as the data are the same: an equal answer says that they are.",
        (Statement, "prepare", _with_content),
        script=scripts.before_and_after,
        pair=((5, 6), (5, 5)),
        true_epsilon=math.inf,
    ),
    _mutant(
        "named releases keyed on the value",
        "A name is answered from the ledger as long as its value is the same.",
        (Session, "release", _with_value),
        script=scripts.named_before_and_after,
        pair=((5, 6), (5, 5)),
        true_epsilon=math.inf,
    ),
    _mutant(
        "repeats with fresh noise",
        "A question that was answered is free, and its noise is drawn anew: the mean of four answers is not private.",
        (_Ledger, "reserve", _free_again),
        script=lambda desk: scripts.the_same(desk, 4),
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "the spend is forgotten",
        "A charge is checked and not added to the total: four answers for the price of one.",
        (accounts.Account, "charged", _forgotten),
        script=lambda desk: scripts.different(desk, pure(1), 4),
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "totals are rounded down",
        "The total is cut to a whole number before it is held against the budget: 0.99 fits twice.",
        (accounts, "within", _rounded_down),
        script=lambda desk: scripts.different(desk, pure("0.99"), 3),
        true_epsilon=2 * 0.99,
        samples=12_000,
        slow=True,
    ),
    _mutant(
        "each session knows its own charges",
        "The budget is held against what this process has charged, and each of three has all of it.",
        (_Ledger, "reserve", _own_charges),
        script=scripts.in_many_places,
        true_epsilon=3 * 1,
        samples=8_000,
    ),
    _mutant(
        "a ledger that was rolled back",
        "An older copy of the file is taken for the ledger: what was spent since is free.",
        (
            rows,
            "tip",
            lambda connection, seen, where, *about: _tip(connection, rows.first(connection, where), where, *about),
        ),
        script=scripts.rolled_back,
        true_epsilon=4 * 1,
        samples=8_000,
    ),
    _mutant(
        "deltas are not added",
        "Of several releases the ledger counts the largest delta.",
        (accounts.Account, "charged", _most_delta),
        script=scripts.many_keys,
        pair=((1,), (0,)),
        budget=approx(1, "0.2"),
        true_epsilon=hidden(1 - 0.8**4, 0.2),
        samples=2_000,
    ),
    _mutant(
        "the sensitivity of a release is not charged",
        "A value that a person moves by 3 is charged as if it were 1.",
        (MechanismQuestion, "_loss", _at_sensitivity_1),
        script=scripts.wide_releases,
        pair=((8,), (5,)),
        true_epsilon=3 * (3 / 3),
        samples=16_000,
    ),
)
