"""Many copies of a pair in two stages: blocks of about the root of their number on a fine mesh, then the blocks.

Connecting dots h apart costs each copy h^2 (1 + tilt) / 12. A composed block is smooth and counts once, so it may be
connected again on a mesh that is wider by the root of what it holds; both transforms are then that much shorter.
proofs/accounting.md, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, isqrt, log, sqrt
from typing import TYPE_CHECKING

from discreet.privacy._pld._again import connected_again, merged_again
from discreet.privacy._pld._compose import compose
from discreet.privacy._pld._lower import lower_measure
from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._upper import upper_measure
from discreet.privacy._pld._window import LOG_OUTSIDE, full_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy._pld._pair import Pair

LEAST_COUNT = 256
LEAST_WINDOW = 1 << 15  # cells of the window in one stage, below which a second stage costs more than it saves
BLOCK_TAIL = 16.0  # all blocks together may lose e^-16 of delta beyond their windows


@dataclass(frozen=True)
class Stages:
    """The mesh inside the blocks, the mesh of all else, and how many copies of each part a block holds (1: none)."""

    fine: float
    coarse: float
    sizes: tuple[int, ...]


def stages_for(
    parts: Sequence[tuple[Pair, int]], spans: Sequence[tuple[float, float]], width: float, step: float
) -> Stages | None:
    """Return stages that cost as much accuracy as one mesh of `step` would, if they save work.

    `width` is the standard deviation of the sum. Blocks of losses that may be larger have windows as wide as the sum's.
    """
    if any(pair.lattice is not None for pair, _ in parts) or 16 * width < LEAST_WINDOW * step:
        return None
    sizes = tuple(
        _size(count) if high - low < width else 1 for (_, count), (low, high) in zip(parts, spans, strict=True)
    )
    whole = sum(count for _, count in parts)
    outside = sum(count // size + count % size for (_, count), size in zip(parts, sizes, strict=True))
    finer = ceil(sqrt(whole / outside))
    coarse = step * sqrt(whole / (2 * outside))
    return Stages(coarse / finer, coarse, sizes) if finer > 2 else None


def _size(count: int) -> int:
    """About the root of `count`, and about a divisor of it."""
    if count < LEAST_COUNT:
        return 1
    root = isqrt(count)
    return min(range(root - root // 4, root + root // 4 + 1), key=lambda size: count // size + count % size)


@dataclass(frozen=True)
class Staged:
    """`count` copies of a pair in blocks of `size`; only losses from `low` to `high` matter."""

    pair: Pair
    count: int
    size: int
    low: float
    high: float

    @property
    def _blocks(self) -> int:
        return self.count // self.size if self.size > 1 else 0

    @property
    def _alone(self) -> int:
        return self.count - self._blocks * self.size

    def upper(self, stages: Stages, tilt: float, log_delta: float) -> list[tuple[Measure, int]]:
        """Return measures on the coarse mesh that dominate all copies; `log_delta` is that of the delta wanted."""
        found: list[tuple[Measure, int]] = []
        if self._alone:
            found.append((upper_measure(self.pair, stages.coarse, self.low, self.high), self._alone))
        if self._blocks:
            inside = upper_measure(self.pair, stages.fine, self.low, self.high), self.size
            # What lies above a block's window becomes infinite, which must stay far below delta.
            tail = min(LOG_OUTSIDE, log_delta - log(self._blocks) - BLOCK_TAIL)
            block = compose([inside], tilt, upper=True, shape=partial(full_window, log_outside=tail))
            found.append((connected_again(block, inside, stages.coarse), self._blocks))
        return found

    def lower(self, stages: Stages, tilt: float) -> list[tuple[Measure, int]]:
        """Return measures on the coarse mesh that all copies dominate."""
        found: list[tuple[Measure, int]] = []
        if self._alone:
            found.append((lower_measure(self.pair, stages.coarse, self.low, self.high, tilt), self._alone))
        if self._blocks:
            inside = lower_measure(self.pair, stages.fine, self.low, self.high, tilt), self.size
            found.append((merged_again(compose([inside], tilt, upper=False), stages.coarse, tilt), self._blocks))
        return found
