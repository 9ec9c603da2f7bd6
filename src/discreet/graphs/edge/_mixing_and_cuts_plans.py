"""What mixing and cuts of a graph would be, and how wrong each number: free, as their noise is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError, printable
from discreet.graphs.edge._cuts import PreparedCuts
from discreet.graphs.edge._mixing import PreparedMixing
from discreet.graphs.edge._randomized_graph import CutEstimate
from discreet.prices import additive_to_json
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["CutsPlan", "MixingPlan"]


@dataclass(frozen=True, repr=False, eq=False)
class MixingPlan(ShownTable):
    """What mixing by an attribute would measure. Made by `PrivateGraph.plan`: it costs nothing and touches no data.

    Attributes
    ----------
    prepared
        The question that was checked.
    """

    prepared: PreparedMixing

    @property
    def loss(self) -> Loss:
        """What it would cost."""
        return self.prepared.loss

    @property
    def directed(self) -> bool:
        """Whether the graph is directed, and one arc would be protected."""
        return self.prepared.table.declared.directed

    @property
    def numbers(self) -> int:
        """How many numbers of edges there would be: one for each two values, of which none is one."""
        values = len(self.prepared.attribute.values) + 1
        return values**2 if self.directed else values * (values + 1) // 2

    def error(self, level: float = 0.95, *, together: int = 1) -> float:
        """How far so many of the numbers would be from the exact ones, each and at most, with probability `level`.

        It is the same whatever the graph. Raises `ParameterError` unless 0 < level < 1 and 1 ≤ together ≤ `numbers`.
        """
        _check_level(level)
        if isinstance(together, bool) or not isinstance(together, int) or not 1 <= together <= self.numbers:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"together is from 1 to {self.numbers:,}, got {together!r}")
        return float(self.prepared.mechanism.error(1 - (1 - level) / together))

    def explain(self, level: float = 0.95) -> str:
        """What would be measured and how wrong it would be, in words."""
        one, attribute = self._protected, self.prepared.attribute
        joins = "from each value to each" if self.directed else "between each two values"
        lines = [
            f"mixing of the graph {self.prepared.table.name} by {attribute.name}, {len(attribute.values):,} values.",
            "",
            f"Protected: one {one}. A person with k {one}s is protected with k times {in_words(self.loss)}.",
            f"Measured: {one}s {joins}, and to vertices without a value: {self.numbers:,} numbers.",
            f"One {one} moves one of them by 1.",
            f"Error at {100 * level:.10g} %: ± {self.error(level):,.6g} for each number, whatever the graph;",
            f"± {self.error(level, together=self.numbers):,.6g} for all of them together.",
            "",
            f"Cost: {in_words(self.loss)}, once.",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "graph": self.prepared.table.name,
            "protects": "edge",
            **({"directed": True} if self.directed else {}),
            "attribute": self.prepared.attribute.name,
            "values": list(self.prepared.attribute.values),
            "numbers": self.numbers,
            "noise": additive_to_json(self.prepared.mechanism),
            "level": level,
            "error": self.error(level),
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """How many numbers are looked at, and their error."""
        return [("numbers", True), ("± at most", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """Rows for one number and for all, as text."""
        rows = [[f"{each:,}", f"{self.error(level, together=each):,.6g}"] for each in (1, self.numbers)]
        return rows[:first]

    @property
    def shown_rows(self) -> int:
        """One for a number alone, and one for all together."""
        return 2

    def note(self, level: float = 0.95) -> str:
        """Whom it protects."""
        return (
            f"mixing of the graph {self.prepared.table.name}; one {self._protected} is protected; errors at "
            f"{100 * level:.10g} %"
        )

    @property
    def _protected(self) -> str:
        return "arc" if self.directed else "edge"

    def _cost(self) -> str:
        return in_words(self.loss)


@dataclass(frozen=True, repr=False, eq=False)
class CutsPlan(ShownTable):
    """How wrong cuts from a randomised graph would be. Made by `PrivateGraph.plan`: it costs nothing.

    The error of a cut is a function of how many vertices its two sets have, and of nothing else.

    Attributes
    ----------
    prepared
        The question that was checked.
    """

    prepared: PreparedCuts

    @property
    def loss(self) -> Loss:
        """What it would cost."""
        return self.prepared.loss

    def std(self, first: int, second: int | None = None) -> float:
        """The standard error of the edges between two sets of so many vertices that have none in common.

        Without a second number it is all others. Raises `ParameterError` for numbers of no such sets.
        """
        return self._estimate(first, second).std

    def error(self, first: int, second: int | None = None, level: float = 0.95) -> float:
        """How far they would be from the exact number, at most, with probability `level`, for every graph.

        Raises as `std`, and `ParameterError` unless 0 < level < 1.
        """
        return self._estimate(first, second).error(level)

    def _estimate(self, first: int, second: int | None = None) -> CutEstimate:
        vertices = self.prepared.table.vertices
        sizes = [first, vertices - first if second is None else second]
        if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in sizes) or (  # pyright: ignore[reportUnnecessaryIsInstance]
            sum(sizes) > vertices
        ):
            raise ParameterError(
                f"a cut of this graph is between sets of {vertices:,} vertices in all, none of them in both, got "
                f"{first!r} and {'the others' if second is None else repr(second)}"
            )
        pairs, mechanism = sizes[0] * sizes[1], self.prepared.mechanism
        return CutEstimate(0.0, mechanism.std(pairs), pairs, mechanism.flip)

    def explain(self, level: float = 0.95) -> str:
        """What would be measured and how wrong it would be, in words."""
        table, flip = self.prepared.table, float(self.prepared.mechanism.flip)
        lines = [
            f"any cut of the graph {table.name}, {table.vertices:,} vertices.",
            "",
            f"Protected: one edge. A person with k edges is protected with k times {in_words(self.loss)}.",
            f"Measured: every pair of vertices, {100 * flip:.3g} % of them flipped at random; any cut follows.",
            f"Error at {100 * level:.10g} % of the edges between so many vertices and all others",
            *(f"  {size:>12,}: ± {self.error(size, level=level):,.6g}" for size in self._sizes()),
            "It grows with the root of the pairs of vertices between the sets, and is the same for every graph.",
            "",
            f"Cost: {in_words(self.loss)}, once.",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "graph": self.prepared.table.name,
            "vertices": self.prepared.table.vertices,
            "protects": "edge",
            "flip": str(self.prepared.mechanism.flip),
            "level": level,
            "cuts": [
                {"vertices": size, "std": self.std(size), "error": self.error(size, level=level)}
                for size in self._sizes()
            ],
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """How many vertices are cut off from all others, the pairs between, and the errors."""
        return [("vertices", True), ("others", True), ("pairs", True), ("std", True), ("± at most", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each of some sizes as text."""
        vertices, rows = self.prepared.table.vertices, list[list[str]]()
        for size in self._sizes()[:first]:
            cut = self._estimate(size)
            counts = [f"{each:,}" for each in (size, vertices - size, cut.pairs)]
            rows.append([*counts, f"{cut.std:,.6g}", f"{cut.error(level):,.6g}"])
        return rows

    @property
    def shown_rows(self) -> int:
        """How many sizes are shown."""
        return len(self._sizes())

    def note(self, level: float = 0.95) -> str:
        """Whom it protects."""
        return f"cuts of the graph {self.prepared.table.name}; one edge is protected; errors at {100 * level:.10g} %"

    def _sizes(self) -> list[int]:
        """Powers of ten below half of the vertices, and that half."""
        half = self.prepared.table.vertices // 2
        return [*(10**power for power in range(5) if 10**power < half), half]

    def _cost(self) -> str:
        return in_words(self.loss)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
