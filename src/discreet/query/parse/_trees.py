"""Edit a syntax tree in time linear in its size, however long its lists are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from sqlglot import exp
from sqlglot.generator import Generator

__all__ = ["Texts", "put", "size_of", "transformed"]


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


class _Writer(Generator):
    """Remembers what it wrote for each node."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[int, str] = {}

    def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:  # noqa: FBT001, FBT002
        text = super().sql(expression, key, comment)
        if key is None and isinstance(expression, exp.Expr):
            self.texts[id(expression)] = text
        return text


class Texts:
    """What `sql()` gives for each node of some trees. The trees must outlive it, and their parts stay as they are."""

    def __init__(self, *trees: exp.Expr) -> None:
        writer = _Writer()
        for tree in trees:
            writer.sql(tree)
        self._texts = writer.texts

    def text(self, node: exp.Expr) -> str:
        """The text of a node.

        >>> tree = exp.maybe_parse("ABS(x + 1)")
        >>> Texts(tree).text(tree.this)
        'x + 1'
        """
        text = self._texts.get(id(node))
        return node.sql() if text is None else text.strip()
