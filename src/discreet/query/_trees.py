"""Changing a tree in time that grows with its size, however long its lists are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from sqlglot import exp

__all__ = ["put", "size_of", "transformed"]


def put(node: exp.Expr, new: exp.Expr) -> None:
    """Put a tree in the place of a node, as ``node.replace(new)`` does, which takes a step for each item beside it.

    >>> tree = exp.maybe_parse("f(x, y)")
    >>> put(tree.expressions[1], exp.Literal.number(1))
    >>> tree.sql()
    'F(x, 1)'
    """
    parent, key, index = node.parent, node.arg_key, node.index
    if new is node:
        return
    if parent is None or key is None or index is None:
        node.replace(new)
        return
    parent.set("", None)  # what it knows of its hash is no longer so
    parent.args[key][index] = new
    new.parent, new.arg_key, new.index = parent, key, index
    node.parent = node.arg_key = node.index = None


def transformed(tree: exp.Expr, swap: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The tree itself, with what `swap` gives in place of each node that it changes; what it gives is left as it is.

    >>> transformed(exp.maybe_parse("x + f(x)"), lambda n: exp.null() if isinstance(n, exp.Column) else n).sql()
    'NULL + F(NULL)'
    """
    new = swap(tree)
    if new is not tree:
        return new
    below = [tree]
    while below:
        for child in list(below.pop().iter_expressions()):
            new = swap(child)
            if new is child:
                below.append(child)
            else:
                put(child, new)
    return tree


def size_of(tree: exp.Expr, most: int) -> int:
    """How many nodes a tree has; more than `most` are not counted."""
    return sum(1 for _ in islice(tree.walk(), most + 1))
