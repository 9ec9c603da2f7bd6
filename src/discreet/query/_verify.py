"""Verify the loss of a query or a suggestion from its certificate alone.

The noise, the caps and the limits of rows are taken as stated; the norms, what each mechanism loses and how that adds
up are recomputed by the algebra that made the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, PureLoss, Relation, SumLoss, currency, from_json, in_currency
from discreet.query._certificate_levels import LEVEL, recompute_level_loss, section
from discreet.release import check_within, stated_in

__all__ = ["recompute_query_loss", "verify_query_loss"]

_SUGGESTED = LEVEL | {"of", "cells"}


def recompute_query_loss(certificate: Mapping[str, Any]) -> Loss:
    """The loss that follows from the mechanisms of a certificate, in the stated currency. Raises `LedgerError`."""
    name = currency(stated_in(certificate))
    return in_currency(SumLoss((PureLoss(Fraction(0)), *(loss for _, loss, _ in _levels(certificate)))), name)


def verify_query_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, which names the part, where the mechanisms lose more than is stated."""
    stated = stated_in(certificate)
    losses: list[Loss] = []
    for part, lost, of_part in _levels(certificate):
        check_within(part, lost, of_part)
        losses.append(of_part)
    check_within("all parts together", SumLoss((PureLoss(Fraction(0)), *losses)), stated)


def _choice(cap: object, levels: Sequence[object]) -> object:
    """The level that chose a cap, which all levels have: one count of people by as many keys as there are caps."""
    stated = section(cap, {"caps", "chosen", "level"})
    caps, chosen, level = stated["caps"], stated["chosen"], stated["level"]
    under = [each.get("rows_per_unit") for each in levels if isinstance(each, Mapping)]
    if not isinstance(caps, list) or chosen not in caps or under != [chosen] * len(levels):
        raise LedgerError("the cap that is stated is not one of its caps, or not that of the answer")
    counts = [each.get("of") for each in level["measures"]] if isinstance(level, Mapping) else []
    if counts != ["Count"] or [level[name] for name in ("rows_per_unit", "groups_per_unit")] != [1, 1]:
        raise LedgerError("what chose the cap is not one count of people")
    if level["groups"] != len(caps):
        raise LedgerError("what chose the cap has another number of groups than there are caps")
    return level


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
    parts = [(f"part {i + 1} of {len(main)}", each) for i, each in enumerate(main)]
    parts += [(f"estimate of bias {i + 1}", each) for i, each in enumerate(more)]
    if (cap := certificate.get("cap")) is not None:
        parts.append(("the choice of the cap", _choice(cap, main)))
    for i, (part, each) in enumerate(parts):
        try:
            level = section(each, names if i < len(main) else LEVEL)
            yield part, recompute_level_loss(level, relation), from_json(level["loss"])
        except (LedgerError, ParameterError) as error:
            raise LedgerError(f"{part} of the certificate cannot be followed: {error}") from None
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            raise LedgerError(f"{part} of the certificate cannot be followed: it is malformed") from None
