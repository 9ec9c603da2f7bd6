"""A tree of nested areas, level by level, with the children of an area side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Tree"]

Places = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels from the root to the leaves, in each of which the children of one area follow one another.

    Attributes
    ----------
    parents
        For each level below the root the place, in the level above, of the parent of each of its areas: it never falls,
        and leaves out none, so that every area above the leaves has a child.

    Raises `ParameterError` for parents of another shape.

    >>> tree = Tree.of_parents([[0, 0], [0, 0, 1]])
    >>> tree.sizes
    (1, 2, 3)
    >>> tree.up(1, np.array([10, 20, 30]))
    array([30, 30])
    """

    parents: tuple[Places, ...]

    def __post_init__(self) -> None:
        above = 1
        for level, parents in enumerate(self.parents):
            steps = np.diff(parents, prepend=-1)
            if not len(parents) or parents[-1] != above - 1 or steps.min() < 0 or steps.max() > 1:
                raise ParameterError(
                    f"level {level + 1} of a tree names {len(parents)} parents that are not the {above} areas above "
                    "it, in order and each with a child"
                )
            above = len(parents)

    @classmethod
    def of_parents(cls, parents: Sequence[Any]) -> Tree:
        """A tree of sequences of whole numbers."""
        return cls(tuple(np.asarray(each, dtype=np.int64) for each in parents))

    @property
    def levels(self) -> int:
        """How many levels there are, with the root."""
        return len(self.parents) + 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many areas each level has."""
        return (1, *(len(each) for each in self.parents))

    @cached_property
    def starts(self) -> tuple[Places, ...]:
        """For each level but the last the place, in the level below, of the first child of each of its areas."""
        return tuple(np.flatnonzero(np.diff(each, prepend=-1)) for each in self.parents)

    def family(self, level: int, begin: int, end: int) -> tuple[Tree, slice]:
        """Some areas of a level with their children, below a root of their own; and which areas the children are.

        >>> tree = Tree.of_parents([[0, 0, 0], [0, 1, 1, 2]])
        >>> tree.family(1, 1, 3)[0].parents, tree.family(1, 1, 3)[1]
        ((array([0, 0]), array([0, 0, 1])), slice(1, 4, None))
        """
        starts, below = self.starts[level], self.parents[level]
        last = int(starts[end]) if end < len(starts) else len(below)
        children = slice(int(starts[begin]), last)
        return Tree((np.zeros(end - begin, np.int64), below[children] - begin)), children

    def up(self, level: int, below: NDArray[Any]) -> NDArray[Any]:
        """For each area of a level the sum of what its children have, by rows."""
        return np.add.reduceat(below, self.starts[level], axis=0)

    def down(self, level: int, above: NDArray[Any]) -> NDArray[Any]:
        """For each area of a level that is not the root what its parent has, by rows."""
        return above[self.parents[level - 1]]

    def sums(self, leaves: NDArray[Any]) -> list[NDArray[Any]]:
        """From what the leaves have, by rows, to the sums at every level."""
        levels = [leaves]
        for level in reversed(range(self.levels - 1)):
            levels.append(self.up(level, levels[-1]))
        return levels[::-1]
