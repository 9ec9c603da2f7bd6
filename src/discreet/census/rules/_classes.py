"""The classes of cells that rules tell apart, in each universe, and the rules as factors of their totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.census.estimates import Columns, Layout
from discreet.census.rules._generators import generators
from discreet.census.specs import Rule
from discreet.errors import DiscreetError, ParameterError, QueryError

__all__ = ["Classes", "RuledTotals"]

Places = NDArray[np.int64]
_MOST_CLASSES = 24


@dataclass(frozen=True, eq=False)
class Classes:
    """The cells of one universe, in classes between which rules make no difference.

    Attributes
    ----------
    columns
        The columns that the conditions of the rules name.
    weights
        For each class 1 in the cells of these columns that it has, and 0 in the others.
    cells
        For each class the places of its cells among those of all columns.
    """

    columns: Columns
    weights: tuple[NDArray[np.float64], ...]
    cells: tuple[NDArray[np.intp], ...]

    @classmethod
    def of_conditions(cls, layout: Layout, conditions: Sequence[str]) -> Classes:
        """Tell cells apart by conditions. Raises `QueryError` for one that holds in a part of a cell."""
        named = {each for where in conditions for each in layout.columns_in(where)}
        columns = tuple(sorted(named))
        shape = tuple(layout.sizes[column] for column in columns)
        marks = np.zeros(shape, np.int64)
        for place, where in enumerate(conditions):
            marks += layout.weights(where, columns).astype(np.int64) << place
        spread = [size if column in columns else 1 for column, size in enumerate(layout.sizes)]
        detail = np.broadcast_to(marks.reshape(spread), layout.sizes).ravel()
        kinds = np.unique(detail[layout.allowed.ravel()]).tolist()
        return cls(
            columns,
            tuple((marks == kind).astype(np.float64) for kind in kinds),
            tuple(np.flatnonzero(detail == kind) for kind in kinds),
        )

    def meets(self, where: NDArray[np.float64]) -> Places:
        """1 for each class in whose cells a condition on these columns holds, by its weights there."""
        return np.array([int((own * where).any()) for own in self.weights], np.int64)


@dataclass(frozen=True, eq=False)
class RuledTotals:
    """The totals of the classes of all universes that rules tie, and the generators that keep the rules.

    Attributes
    ----------
    layouts
        The universes, by name.
    rules
        The rules between them.
    classes
        The classes of each universe.
    factors
        For each rule the factor of each class, universe by universe.
    """

    layouts: Mapping[str, Layout]
    rules: tuple[Rule, ...]
    classes: Mapping[str, Classes]
    factors: Places

    @classmethod
    def of_rules(cls, layouts: Mapping[str, Layout], rules: Mapping[str, Rule]) -> RuledTotals | None:
        """The rules, by their keys in the specification, over the cells of universes; None where there are none.

        Raises `ParameterError` and `QueryError`, which name the rule, for what cannot be kept.
        """
        if not rules:
            return None
        names = {name.casefold(): name for name in layouts}
        conditions: dict[str, list[str]] = {}
        for key, rule in rules.items():
            for term in rule.terms:
                name = names.get(term.universe.casefold())
                if name is None:
                    raise ParameterError(f"{key}: there is no universe {term.universe}; there are {', '.join(layouts)}")
                wheres = conditions.setdefault(name, [])
                if term.where is not None and term.where not in wheres:
                    _checked(key, layouts[name], term.where)
                    wheres.append(term.where)
        classes = {name: Classes.of_conditions(layouts[name], each) for name, each in conditions.items()}
        if sum(len(each.cells) for each in classes.values()) > _MOST_CLASSES:
            raise ParameterError(
                f"rules: they tell more than {_MOST_CLASSES} classes of cells apart; leave some out, or write their "
                "conditions alike"
            )
        rows = [
            np.concatenate(
                [
                    sum(
                        (
                            term.factor * classes[name].meets(layouts[name].weights(term.where, classes[name].columns))
                            for term in rule.terms
                            if names[term.universe.casefold()] == name
                        ),
                        np.zeros(len(classes[name].cells), np.int64),
                    )
                    for name in classes
                ]
            )
            for rule in rules.values()
        ]
        ruled = cls({name: layouts[name] for name in classes}, tuple(rules.values()), classes, np.array(rows, np.int64))
        ruled.check()
        return ruled

    @cached_property
    def generators(self) -> Places:
        """The least totals of classes that keep the rules; all others are sums of these."""
        return generators(self.factors, self.is_equal)

    @property
    def is_equal(self) -> NDArray[np.bool_]:
        """Which rules are equalities."""
        return np.array([rule.is_equal for rule in self.rules], np.bool_)

    @cached_property
    def spans(self) -> dict[str, slice]:
        """Where the classes of each universe stand among all."""
        spans: dict[str, slice] = {}
        begin = 0
        for name, each in self.classes.items():
            spans[name] = slice(begin, begin + len(each.cells))
            begin += len(each.cells)
        return spans

    def check(self) -> None:
        """Raise `ParameterError` for rules that leave nobody in cells that are published."""
        lost = np.flatnonzero(~self.generators.any(axis=0))
        for name, span in self.spans.items():
            if any(span.start <= each < span.stop for each in lost.tolist()):
                raise ParameterError(
                    f"rules: together they leave nobody in some cells of {name}; if so it is meant, say it by zeros"
                )


def _checked(key: str, layout: Layout, where: str) -> None:
    try:
        layout.weights(where, layout.columns_in(where))
    except DiscreetError as error:
        raise QueryError(f"{key}: {error}") from None
