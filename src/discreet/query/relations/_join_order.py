"""The order in which the tables of a comma-separated FROM are joined, and on which conditions.

It is chosen by the policy and the query alone, and is the same however the tables and their equalities are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.passes._conjuncts import conjuncts, key_of_condition
from discreet.query.relations._columns import Columns
from discreet.query.relations._joins import is_one, key_of
from discreet.query.relations._nodes import Owned

__all__ = ["Condition", "Listed", "Step", "compares_columns", "is_unconditional", "join_steps"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A table of FROM: what it is called, its rows, and the condition of LEFT, SEMI or ANTI JOIN if it has one."""

    alias: str
    owned: Owned
    later: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that all rows must satisfy: a part of ON or of WHERE, its names resolved.

    Attributes
    ----------
    node
        The condition.
    written
        The part of WHERE that it was, None for a part of ON. What no join takes stays in WHERE as it is written.
    """

    node: exp.Expr
    written: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The next table to join, by its place in the list, and on what; the first has no `on`.

    `later` says that it is joined as it is written, by LEFT, SEMI or ANTI JOIN.
    """

    place: int
    on: tuple[exp.Expr, ...] = ()
    later: bool = False


def is_unconditional(item: exp.Join) -> bool:
    """Whether a join has no equality between columns of its own: a comma, CROSS JOIN, or ON of another predicate.

    >>> query = exp.maybe_parse("SELECT 1 FROM a, b JOIN c ON b.x = c.x JOIN d ON c.y < d.y", into=exp.Select)
    >>> [is_unconditional(item) for item in query.args["joins"]]
    [True, False, True]
    """
    if item.args.get("side") or item.args.get("using") or item.args.get("method"):
        return False
    if item.kind.upper() not in ("", "INNER", "CROSS"):
        return False
    on = item.args.get("on")
    return on is None or not any(map(compares_columns, conjuncts(on)))


def compares_columns(part: exp.Expr) -> bool:
    """Whether a condition is an equality with a column on either side."""
    sides = [part.left, part.right] if isinstance(part, exp.EQ) else []
    return bool(sides) and all(side.find(exp.Column) and not side.find(exp.Query) for side in sides)


def join_steps(
    tables: Sequence[Listed], conditions: Sequence[Condition], columns: Columns
) -> tuple[list[Step], list[Condition]]:
    """In which order the tables are joined and on what, and the conditions that are left for WHERE.

    The first table is one about people. The next is one that an equality ties to those before: along the person or a
    path, then a public one by its declared key, then any other, and then one of a single public row, which needs none;
    and those of LEFT, SEMI and ANTI JOIN when nothing else is left that can be joined. Raises `QueryError` for a table
    that no equality ties to the others.
    """
    return _Order(tables, columns, _sided(tables, conditions)).steps()


@dataclass(frozen=True, slots=True)
class _Sided:
    """A condition, the tables that it reads, and if it is an equality those that either side reads."""

    condition: Condition
    key: str
    reads: frozenset[int]
    sides: tuple[frozenset[int], frozenset[int]] | None


def _sided(tables: Sequence[Listed], conditions: Sequence[Condition]) -> list[_Sided]:
    owners = {name: place for place, table in enumerate(tables) for name in table.owned.names}
    sided: list[_Sided] = []
    for each in conditions:
        node = each.node.unnest()
        sides = None
        if isinstance(node, exp.EQ):
            sides = _reads(node.left, owners), _reads(node.right, owners)
        sided.append(_Sided(each, key_of_condition(node), _reads(node, owners), sides))
    return sided


def _reads(node: exp.Expr, owners: Mapping[str, int]) -> frozenset[int]:
    return frozenset(owners[column.name] for column in node.find_all(exp.Column))


@dataclass(slots=True)
class _Order:
    tables: Sequence[Listed]
    columns: Columns
    pool: list[_Sided]
    placed: set[int] = field(default_factory=set)

    def steps(self) -> tuple[list[Step], list[Condition]]:
        inner = [place for place, table in enumerate(self.tables) if table.later is None]
        waiting = list(range(len(self.tables)))
        steps = [Step(min(inner, key=lambda place: (self._is_public(place), place)))]
        while True:
            self.placed.add(steps[-1].place)
            waiting.remove(steps[-1].place)
            if not waiting:
                return steps, [each.condition for each in self.pool]
            steps.append(self._next(waiting))

    def _next(self, waiting: Sequence[int]) -> Step:
        ranked = [(rank, place) for place in waiting if (rank := self._rank(place)) is not None]
        if ranked:
            _, place = min(ranked)
            ties = sorted(self._ties(place), key=lambda each: each.key)
            on = {each.key: _turned(each, place) for each in ties}
            reached = self.placed | {place}
            own = [each for each in self.pool if each.condition.written is None and each.reads <= reached]
            on |= {each.key: each.condition.node for each in own if each.key not in on}
            self.pool = [each for each in self.pool if each.key not in on]
            return Step(place, tuple(on.values()))
        for place in waiting:
            later = self.tables[place].later
            if later is not None and self._is_ready(later, place):
                return Step(place, (later,), later=True)
        raise self._untied(waiting)

    def _rank(self, place: int) -> int | None:
        """How well a table can be joined next, 0 best; None if no equality ties it to those before."""
        if self.tables[place].later is not None:
            return None
        ties = self._ties(place)
        if not ties:
            return 4 if is_one(self.tables[place].owned) else None
        if not self._is_public(place):
            return 0 if any(self._is_link(each) for each in ties) else 3
        key = key_of(self.tables[place].owned)
        return 1 if any(_new_side(each, place).unnest().name == key for each in ties) else 2

    def _ties(self, place: int) -> list[_Sided]:
        new = frozenset({place})
        return [
            each
            for each in self.pool
            if each.sides is not None
            and new in each.sides
            and (other := each.sides[each.sides[0] == new])
            and other <= self.placed
        ]

    def _is_link(self, each: _Sided) -> bool:
        node = each.condition.node.unnest()
        assert isinstance(node, exp.EQ)
        private = all(not self._is_public(place) for place in each.reads)
        return private and bool(self.columns.linked(node.left) & self.columns.linked(node.right))

    def _is_public(self, place: int) -> bool:
        return self.tables[place].owned.owner == "nobody"

    def _is_ready(self, on: exp.Expr, place: int) -> bool:
        names = {name for each in (*self.placed, place) for name in self.tables[each].owned.names}
        return all(column.name in names for column in on.find_all(exp.Column))

    def _untied(self, waiting: Sequence[int]) -> QueryError:
        left = ", ".join(self.tables[place].alias for place in waiting if self.tables[place].later is None)
        others = ", ".join(self.tables[place].alias for place in sorted(self.placed))
        return QueryError(
            f"no equality ties {left or self.tables[waiting[0]].alias} to {others}, so that one person could touch any "
            "number of rows; write JOIN … ON a.id = b.id, or WHERE a.id = b.id outside OR"
        )


def _new_side(each: _Sided, place: int) -> exp.Expr:
    """The side of an equality that reads the new table."""
    node = each.condition.node.unnest()
    assert isinstance(node, exp.EQ)
    assert each.sides is not None
    return node.left if each.sides[0] == frozenset({place}) else node.right


def _turned(each: _Sided, place: int) -> exp.Expr:
    """An equality with the side of the new table last."""
    node = each.condition.node.unnest()
    assert isinstance(node, exp.EQ)
    new = _new_side(each, place)
    return exp.EQ(this=(node.right if new is node.left else node.left).copy(), expression=new.copy())
