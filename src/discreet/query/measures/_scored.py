"""Rows by a score of theirs: the sum of a public whole number for each cell that a row is in, cut into ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.policy import ColumnType, Key
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.relations._nodes import Computed

__all__ = ["scored_rows"]

_NAME = "score"
_MOST_WEIGHT = 2**40


def scored_rows(
    bounded: BoundedAggregate, weights: Sequence[Sequence[int] | None], ends: Sequence[int]
) -> BoundedAggregate:
    """The same rows with one key more, the last: the range that a row's score is in, from 0.

    `weights` are a whole number for each value of each key, in the order of its values; None where a key adds nothing.
    `ends` are where ranges begin but for the first: a score that is equal to one is in the range that begins there.
    All of them are public. Raises `ParameterError` for keys that are private, and numbers that do not fit.
    """
    if len(weights) != len(bounded.keys) or not all(a < b for a, b in pairwise(ends)):
        raise ParameterError("weights must have an entry for each key, and ends must rise")
    parts: list[exp.Expr] = []
    for key, each in zip(bounded.keys, weights, strict=True):
        if each is None:
            continue
        if key.values is None or len(each) != len(key.values) or any(abs(weight) > _MOST_WEIGHT for weight in each):
            raise ParameterError(f"weights must have a whole number within 2**40 for each public value of {key.name}")
        parts.append(_points(key, each))
    total: exp.Expr = exp.Literal.number(0)
    for part in parts:
        total = exp.Add(this=total, expression=part)
    taken = {name.casefold() for name in bounded.columns}
    points, place = (_free(name, taken) for name in (_NAME, f"range of {_NAME}"))
    values = tuple(range(len(ends) + 1))
    scored = Computed(bounded.relation, {points: (total, "int")})
    ranged = Computed(scored, {place: (_range(points, ends), "int")})
    fields = {
        points: Field("int", None, None, nullable=False),
        place: Field("int", None, values, nullable=False),
    }
    key = GroupKey(_NAME, values, _column(place), "int")
    return replace(bounded, relation=ranged, keys=(*bounded.keys, key), columns={**bounded.columns, **fields})


def _free(wanted: str, taken: set[str]) -> str:
    name, n = wanted, 1
    while name.casefold() in taken:
        n += 1
        name = f"{wanted}_{n}"
    taken.add(name.casefold())
    return name


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _points(key: GroupKey, weights: Sequence[int]) -> exp.Expr:
    """What a key adds: the values of one weight together, and the weight of most values for those that are left."""
    values: dict[int, list[Key | None]] = defaultdict(list)
    assert key.values is not None
    for value, weight in zip(key.values, weights, strict=True):
        values[weight].append(value)
    rest = max(values, key=lambda weight: len(values[weight]))
    ifs: list[exp.Expr] = []
    for weight, alike in values.items():
        if weight == rest:
            continue
        stored = [value for value in alike if value is not None]
        if stored:
            among = [_literal(value, key.type) for value in stored]
            ifs.append(exp.If(this=exp.In(this=key.computed.copy(), expressions=among), true=_number(weight)))
        if None in alike:
            ifs.append(exp.If(this=exp.Is(this=key.computed.copy(), expression=exp.Null()), true=_number(weight)))
    return exp.Case(ifs=ifs, default=_number(rest)) if ifs else _number(rest)


def _number(number: int) -> exp.Expr:
    return exp.Literal.number(number) if number >= 0 else exp.Neg(this=exp.Literal.number(-number))


def _range(score: str, ends: Sequence[int]) -> exp.Expr:
    """The range of a score: a tree of comparisons."""

    def among(first: int, last: int) -> exp.Expr:
        if first == last:
            return exp.Literal.number(first)
        middle = (first + last) // 2
        test = exp.LT(this=_column(score), expression=_number(ends[middle]))
        return exp.Case(ifs=[exp.If(this=test, true=among(first, middle))], default=among(middle + 1, last))

    return among(0, len(ends))


def _literal(value: Key, kind: ColumnType) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        return _number(value)
    text = exp.Literal.string(str(value))
    return exp.Cast(this=text, to=exp.DataType.build(kind.upper())) if kind in ("date", "timestamp") else text
