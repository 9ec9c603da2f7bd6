"""The mechanisms for one task, best first."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.advice._option import LeftOut, Option
from discreet.privacy import Loss, in_words

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["Recommendation"]


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """Mechanisms for a statistic, the one that errs least first. Made by `discreet.recommend`; costs no privacy.

    Attributes
    ----------
    statistic
        What is to be released.
    n
        The public number of records, or of what `counted` says, that the errors are for.
    spend
        What each of the options costs at most.
    options
        The mechanisms that apply, in the order of their errors.
    left_out
        Those that do not, with the reason.
    counted
        What `n` counts: ``"records"``, or ``"vertices"``.
    """

    statistic: str
    n: int
    spend: Loss
    options: tuple[Option, ...]
    left_out: tuple[LeftOut, ...]
    counted: str = "records"

    @property
    def mechanism(self) -> Any:
        """The best one, ready to `release`."""
        return self.options[0].mechanism

    @property
    def error(self) -> float:
        """The expected error of the best one: the root of its mean square, in the unit of the statistic."""
        return self.options[0].error

    def cells(self) -> list[list[str]]:
        """Name, error, basis and reason of every option as text."""
        return [[each.name, _number(each.error), each.basis, each.why] for each in self.options]

    @property
    def title(self) -> str:
        """What the table is about."""
        return f"{self.statistic} of {self.n:,} {self.counted} at {in_words(self.spend)}"

    def __rich__(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("mechanism", "expected error", "basis", "why", box=box.SIMPLE_HEAD)
        for row in self.cells():
            table.add_row(*map(Text, row))
        notes = [Text(f"not {each.name}: {each.reason}") for each in self.left_out]
        return Group(Text(self.title), table, *notes)

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self.__rich__())
        return capture.get().rstrip("\n")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{each}</th>" for each in ("mechanism", "expected error", "basis", "why"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.cells()
        )
        notes = "".join(f"<p>not {html.escape(each.name)}: {html.escape(each.reason)}</p>" for each in self.left_out)
        return f"<p>{html.escape(self.title)}</p><table><tr>{head}</tr>{rows}</table>{notes}"


def _number(error: float) -> str:
    return "infinite" if math.isinf(error) else f"{error:.3g}"
