"""Keys of texts that the policy does not list: discovered under differential privacy before anything else is measured.

A key is shown where enough people have it, by the thresholds of a query by private keys, which need a δ. Rows of other
keys do not count in the fit. Proof: ``proofs/partition_selection.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.marginals import ColumnCells
from discreet.policy import Policy
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, Relation, RhoLoss, budget_of, from_json
from discreet.query import LEVEL, Level, key_level, level_to_json, noisy_groups, recompute_level_loss, section
from discreet.release import ReleaseContext, check_within

__all__ = ["Discovery", "discoveries", "discovery_loss", "with_keys"]

_SHARE = Fraction(1, 20)
_MOST = 10
_MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Discovery:
    """The keys of one column: what an engine counts for them, and with which noise."""

    column: str
    level: Level

    @property
    def loss(self) -> Loss:
        """What it costs."""
        assert self.level.noise is not None
        return self.level.noise.loss

    def to_json(self) -> dict[str, Any]:
        """What ran, in plain JSON."""
        return {"column": self.column, **level_to_json(self.level)}


def discoveries(
    policy: Policy, table: str, columns: Sequence[ColumnCells], spend: Loss
) -> tuple[tuple[Discovery, ...], Loss]:
    """The discoveries that columns without keys need, a twentieth of the spend each, and what is left for the fit.

    A δ is shared among them; in (ε, δ) the fit keeps half of it. Raises `QueryError` where there is no δ, or for too
    many such columns.
    """
    names = [column.name for column in columns if column.keys == ()]
    if not names:
        return (), spend
    if len(names) > _MOST:
        raise QueryError(
            f"{table} has {len(names)} columns of text without public keys, and a fit discovers those of {_MOST} at "
            "most; list keys in the policy, or leave some out of columns"
        )
    kind, (main, *rest) = budget_of(spend)
    delta = sum(rest, Fraction(0))
    if delta == 0:
        raise QueryError(
            f"{table}.{names[0]} is text without public keys, whose discovery needs a delta: list its keys in the "
            "policy, spend dp.approx(epsilon, delta) or dp.rho(rho, delta), or leave it out of columns"
        )
    for_keys = delta / 2 if kind == "approx" else delta
    each = _budget(kind, main * _SHARE, for_keys / len(names))
    planned = tuple(Discovery(name, key_level(policy, table, name, each)) for name in names)
    return planned, _budget(kind, main * (1 - _SHARE * len(names)), delta - for_keys)


def _budget(kind: str, main: Fraction, delta: Fraction) -> Loss:
    match kind:
        case "rho":
            return RhoLoss(main, delta)
        case "mu":
            return MuLoss(main, delta)
        case "approx":
            return ApproxLoss(main, delta)
        case _:
            return PureLoss(main)


def with_keys(
    planned: Sequence[Discovery], columns: Sequence[ColumnCells], context: ReleaseContext
) -> tuple[ColumnCells, ...]:
    """The columns with the keys that were discovered; a column of which none was is left out."""
    keys: dict[str, tuple[str, ...]] = {}
    groups = noisy_groups([each.level for each in planned], context)
    for each, shown in zip(planned, groups, strict=True):
        texts = sorted(str(group.key[0]) for group in shown if group.key[0] is not None)
        keys[each.column] = tuple(texts[:_MOST_KEYS])
    known = [replace(column, keys=keys.get(column.name, column.keys)) for column in columns]
    return tuple(column for column in known if column.keys != ())


def discovery_loss(data: object, relation: Relation) -> Loss:
    """What one discovery of a certificate states, once it is known to cost no more. Raises `LedgerError`."""
    if not isinstance(data, Mapping):
        raise LedgerError("a discovery of keys is not in the format of this version of discreet")
    level = section(data, LEVEL | {"column"})
    stated = from_json(level["loss"])
    try:
        lost = recompute_level_loss({name: level[name] for name in LEVEL}, relation)
    except (ParameterError, TypeError, ValueError, ArithmeticError, KeyError):
        raise LedgerError("a discovery of keys cannot be followed: it is malformed") from None
    check_within(f"the keys of {level['column']}", lost, stated)
    return stated
