"""The text of every part of a tree, written in one go. To write each alone takes a step for each parent."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import Generator

__all__ = ["Texts"]


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
