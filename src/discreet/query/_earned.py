"""Whether the loss that a certificate states follows from the mechanisms that it names.

Nothing but the certificate is asked. The noise, the caps and the limits of rows are taken as stated; the norms, what
each mechanism loses and how that adds up are worked out again, by the algebra that made the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms import mechanism_earned
from discreet.privacy import Loss, PureLoss, Relation, SumLoss, currency, from_json, in_currency, in_words
from discreet.query._earned_level import LEVEL, level_earned, section

__all__ = ["earned", "loss_follows"]

_SUGGESTED = LEVEL | {"of", "cells"}


def earned(certificate: Mapping[str, Any]) -> Loss:
    """The loss that follows from the mechanisms of a certificate: of a query and a suggestion in the stated currency.

    Costs nothing. Raises `LedgerError` for a certificate that cannot be read or contradicts itself, and for one of a
    mechanism that does not ship with discreet, whose loss only its author knows.
    """
    if certificate.get("kind") == "mechanism":
        found = mechanism_earned(certificate)
        if isinstance(found, str):
            raise LedgerError(f"the loss cannot be worked out: {found}")
        return found
    name = currency(_stated(certificate))
    return in_currency(SumLoss((PureLoss(Fraction(0)), *(each for _, each, _ in _levels(certificate)))), name)


def loss_follows(certificate: Mapping[str, Any]) -> str | None:
    """None if the stated loss follows from the mechanisms, and else why that cannot be known.

    The latter is so where a mechanism does not ship with discreet. Costs nothing. Raises `LedgerError`, which names the
    part, where the mechanisms lose more than is stated, and for a certificate that cannot be read or contradicts
    itself.
    """
    stated = _stated(certificate)
    if certificate.get("kind") == "mechanism":
        found = mechanism_earned(certificate)
        if isinstance(found, str):
            return found
        _check("the mechanism", found, stated)
        return None
    losses: list[Loss] = []
    for part, lost, said in _levels(certificate):
        _check(part, lost, said)
        losses.append(said)
    _check("all parts together", SumLoss((PureLoss(Fraction(0)), *losses)), stated)
    return None


def _levels(certificate: Mapping[str, Any]) -> Iterator[tuple[str, Loss, Loss]]:
    """Each part, what it loses, and what it states that it loses."""
    relation: Relation = "substitute" if certificate.get("relation") == "substitute" else "add_remove"
    if certificate.get("relation") != relation:
        raise LedgerError("the certificate names no relation of neighbours, so no loss follows")
    kind, levels, extra = certificate.get("kind"), certificate.get("levels"), certificate.get("bias_levels", [])
    if kind not in ("query", "suggestion") or not isinstance(levels, list) or not isinstance(extra, list):
        raise LedgerError("this is not the certificate of a release that this version of discreet knows")
    names = LEVEL if kind == "query" else _SUGGESTED
    main, more = cast("list[object]", levels), cast("list[object]", extra)
    for i, each in enumerate([*main, *more]):
        part = f"part {i + 1} of {len(main)}" if i < len(main) else f"estimate of bias {i - len(main) + 1}"
        try:
            level = section(each, names if i < len(main) else LEVEL)
            yield part, level_earned(level, relation), from_json(level["loss"])
        except (LedgerError, ParameterError) as error:
            raise LedgerError(f"{part} of the certificate cannot be followed: {error}") from None
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            raise LedgerError(f"{part} of the certificate cannot be followed: it is malformed") from None


def _stated(certificate: Mapping[str, Any]) -> Loss:
    try:
        loss = from_json(certificate.get("loss"))
        currency(loss)
    except (ParameterError, TypeError, ValueError, ArithmeticError):
        raise LedgerError("the certificate states no loss that can be read") from None
    return loss


def _check(part: str, lost: Loss, stated: Loss) -> None:
    try:
        within = lost.fits(stated)
    except ParameterError:
        within = False
    if not within:
        raise LedgerError(
            f"the stated loss does not follow: {part}: the mechanisms lose {_words(lost, stated)}, and stated is "
            f"{in_words(stated)}; the release costs more than it says"
        )


def _words(lost: Loss, stated: Loss) -> str:
    try:
        return in_words(in_currency(lost, currency(stated)))
    except ParameterError:
        return in_words(lost)
