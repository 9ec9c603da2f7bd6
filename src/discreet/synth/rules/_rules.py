"""Rules that synthetic rows keep: public facts that the caller knows, none of which is read off private rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.errors import ParameterError
from discreet.marginals.conditions import column_names, condition
from discreet.synth.rules._follower import Follower

__all__ = ["Follows", "Rule", "Rules", "Soft", "Total", "sorted_rules"]

_MOST_RULES = 100
_MOST_WEIGHT = 100.0
_MOST_ROWS = 10**15


@dataclass(frozen=True)
class Soft:
    """A condition that rows may break, each e⁻ʷ times as often as they would, with w the `weight`.

    It bends what was measured: the marginals of its columns move.
    """

    condition: str
    weight: float = 1.0


@dataclass(frozen=True)
class Follows:
    """A column whose value follows from others by a public table. It is not measured, and costs nothing.

    Parameters
    ----------
    column
        The column that follows.
    given
        The column or columns that it follows from, each with a cell for every value.
    values
        Its value for each value of `given`, or for each tuple of values of several; or an Arrow table of these columns.
        NULL is None; where it is not listed, what follows from a NULL is NULL.
    """

    column: str
    given: str | Sequence[str]
    values: Mapping[Any, object] | pa.Table


@dataclass(frozen=True)
class Total:
    """How many rows there are, exactly, or how many hold a condition: public, and never read off the private rows.

    A total of the rows that hold a condition needs a total of all rows beside it.
    """

    rows: int
    where: str | None = None


Rule = str | Soft | Follows | Total
"""A condition in SQL that every row keeps, or one of the others."""


@dataclass(frozen=True)
class Rules:
    """All rules of a synthetic table, checked one by one."""

    hard: tuple[str, ...] = ()
    soft: tuple[Soft, ...] = ()
    followers: tuple[Follower, ...] = ()
    totals: tuple[Total, ...] = ()

    @property
    def rows(self) -> int | None:
        """How many rows there are, if that is public."""
        return next((each.rows for each in self.totals if each.where is None), None)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of all rules."""
        soft = (each.condition for each in self.soft)
        return (*self.hard, *soft, *(each.where for each in self.totals if each.where is not None))

    def words(self) -> Iterator[str]:
        """Each rule in words."""
        yield from self.hard
        for follower in self.followers:
            yield f"{follower.name} follows from {' and '.join(follower.given)}"
        for total in self.totals:
            yield f"{total.rows:,} rows{'' if total.where is None else f' with {total.where}'}"
        for soft in self.soft:
            yield f"{soft.condition}, broken by e^-{soft.weight:g} times as many rows as without"

    def to_json(self) -> dict[str, Any]:
        """The rules as plain JSON; `from_json` restores them."""
        return {
            "hard": list(self.hard),
            "soft": [[each.condition, float(each.weight)] for each in self.soft],
            "follows": [each.to_json() for each in self.followers],
            "totals": [[each.rows, each.where] for each in self.totals],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rules:
        """Restore rules. Raises `ValueError`, `KeyError`, `TypeError` or `DiscreetError` for what are none."""
        if set(data) != {"hard", "soft", "follows", "totals"} or sum(map(len, data.values())) > _MOST_RULES:
            raise ValueError
        soft = tuple(Soft(condition, weight) for condition, weight in data["soft"])
        totals = tuple(Total(rows, where) for rows, where in data["totals"])
        _check([*data["hard"], *soft, *totals])
        return cls(tuple(data["hard"]), soft, tuple(Follower.from_json(each) for each in data["follows"]), totals)


def sorted_rules(rules: object) -> tuple[Rules, list[Follows]]:
    """Rules as the caller gives them, without the columns that follow, and these.

    Raises `ParameterError` or `QueryError` for what is no rule.

    >>> rules, follows = sorted_rules(["a > 0 OR b = 1", Soft("a < 9", 2), Total(100)])
    >>> rules.hard, rules.rows
    (('a > 0 OR b = 1',), 100)
    """
    if isinstance(rules, str) or not isinstance(rules, Sequence):
        raise ParameterError(
            'rules is a list of conditions in SQL, as in ["cost = 0 OR visits > 0"], or of other rules'
        )
    listed: list[object] = list(rules)  # pyright: ignore[reportUnknownArgumentType]
    if len(listed) > _MOST_RULES:
        raise ParameterError(f"a fit takes at most {_MOST_RULES} rules")
    _check([each for each in listed if not isinstance(each, Follows)])
    follows = [each for each in listed if isinstance(each, Follows)]
    chosen = Rules(
        hard=tuple(each for each in listed if isinstance(each, str)),
        soft=tuple(each for each in listed if isinstance(each, Soft)),
        totals=tuple(each for each in listed if isinstance(each, Total)),
    )
    return chosen, follows


def _check(rules: Sequence[object]) -> None:
    for rule in rules:
        match rule:
            case str():
                column_names(condition(rule))
            case Soft(text, weight):
                column_names(condition(text))
                _check_weight(weight)
            case Total(rows, where):
                _check_total(rows, where)
            case _:
                raise ParameterError(
                    f"a rule is a condition in SQL, or a synth.Soft, synth.Follows or synth.Total, not {rule!r}"
                )
    totals = [rule for rule in rules if isinstance(rule, Total)]
    every = [each.rows for each in totals if each.where is None]
    if len(every) > 1:
        raise ParameterError("rules have the total of all rows twice; keep one")
    if totals and not every:
        raise ParameterError("a total of some rows needs that of all rows: add synth.Total(rows) to the rules")
    if any(each.rows > every[0] for each in totals):
        raise ParameterError("rules have a total of some rows that is above that of all rows")


def _check_weight(weight: Any) -> None:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 < weight <= _MOST_WEIGHT:
        raise ParameterError(f"the weight of a soft rule is a number above 0, at most {_MOST_WEIGHT:g}, not {weight!r}")


def _check_total(rows: object, where: object) -> None:
    if type(rows) is not int or not 0 <= rows <= _MOST_ROWS or (where is None and rows == 0):
        raise ParameterError(f"a total is a whole number of rows, not {rows!r}")
    if where is not None:
        column_names(condition(where))
