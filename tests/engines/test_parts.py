"""Parts of rows are looked up by their meaning, with no more comparisons than there are names."""

from __future__ import annotations

from unittest.mock import patch

import sqlglot
from sqlglot import exp

from discreet.engines.sql._parts import Parts

COUNT = 2_000


def test_many_parts_are_looked_up_without_comparing_each_with_all() -> None:
    columns = [sqlglot.column(f"c{i}") for i in range(COUNT)]
    parts, compared = Parts(), 0
    equals = exp.Expr.__eq__

    def counted(one: exp.Expr, other: object) -> bool:
        nonlocal compared
        compared += 1
        return equals(one, other)

    with patch.object(exp.Expr, "__eq__", counted):
        for column in columns:
            parts.put(("number", column, 0), f"{column} * 1", (0, 9))
            parts.put(("number", column.copy(), 0), "another of the same meaning", None)
        named = [parts.named(("number", column.copy(), 0)) for column in columns]
        present = [parts.presence(column.copy()) for column in columns]
    assert named == present == [f"v{i}" for i in range(COUNT)] == [each.name for each in parts]
    assert compared < 20 * COUNT


def test_the_first_part_tells_where_an_argument_is_present() -> None:
    column, parts = sqlglot.column("c"), Parts()
    parts.put(("when", column), "a condition", None)
    assert parts.presence(column) is None
    parts.put(("present", column), "1", (0, 1))
    parts.put(("number", column, 3), "c - 3", (0, 9))
    assert parts.presence(column) == "v1" == parts.named(("present", column)) and parts.named(("when", column)) == "v0"
