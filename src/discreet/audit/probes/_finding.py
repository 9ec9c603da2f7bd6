"""Findings of probes: one for each leak that was looked for."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast, overload

from discreet.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Finding", "Findings", "unmeasured"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for in a mechanism.

    Attributes
    ----------
    name
        What was looked for.
    violated
        Whether it breaks the privacy of the mechanism, or its claim.
    sentence
        In plain words: what was seen, and what to do next.
    false_alarm
        The probability at most with which a sound mechanism is flagged here; 0 for a fact that needs no statistics.
    numbers
        What is behind it, by name: counts, rates, bounds.
    warning
        Whether it deserves a look although no leak is proven.
    probed
        Whether it could be looked for at all.
    """

    name: str
    violated: bool
    sentence: str
    false_alarm: float = 0.0
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    warning: bool = False
    probed: bool = True

    @property
    def mark(self) -> str:
        """LEAK, look, fine, or n/a where it could not be looked for."""
        return "LEAK" if self.violated else "look" if self.warning else "fine" if self.probed else "n/a"

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON; infinities and NaN are null."""
        return {
            "name": self.name,
            "violated": self.violated,
            "warning": self.warning,
            "probed": self.probed,
            "sentence": self.sentence,
            "false_alarm": self.false_alarm,
            "numbers": _plain(self.numbers),
        }

    def __str__(self) -> str:
        return f"{self.mark}  {self.name}: {printable(self.sentence)}"


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """All that probes found, in the order in which they ran. Made by `discreet.audit.probe`; costs no privacy.

    A sequence of `Finding`, that prints as a table.

    >>> findings = Findings((Finding("copies", False, "Two copies drew different noise."),))
    >>> findings.violated, len(findings), findings["copies"].mark
    (False, 1, 'fine')
    """

    findings: tuple[Finding, ...]

    @property
    def violated(self) -> bool:
        """Whether any of them is a violation."""
        return any(each.violated for each in self.findings)

    @property
    def violations(self) -> tuple[Finding, ...]:
        """The findings that are violations."""
        return tuple(each for each in self.findings if each.violated)

    @property
    def false_alarm(self) -> float:
        """The probability at most that a sound mechanism has any violation here."""
        return min(1.0, math.fsum(each.false_alarm for each in self.findings))

    @property
    def sentence(self) -> str:
        """All of it in plain words."""
        if self.violated:
            return " ".join(["VIOLATED:", *(each.sentence for each in self.violations)])
        looks = [each.sentence for each in self.findings if each.warning]
        summary = f"{sum(each.probed for each in self.findings)} probes found no leak. That proves no privacy."
        return " ".join([summary, *looks])

    def to_json(self) -> dict[str, Any]:
        """The findings as plain JSON."""
        return {
            "violated": self.violated,
            "false_alarm": self.false_alarm,
            "sentence": self.sentence,
            "findings": [each.to_json() for each in self.findings],
        }

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @overload
    def __getitem__(self, which: int | str) -> Finding: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Finding | tuple[Finding, ...]:
        if isinstance(which, str):
            named = [each for each in self.findings if each.name == which]
            if not named:
                raise KeyError(
                    f"no finding is named {which!r}; there are {', '.join(each.name for each in self.findings)}"
                )
            return named[0]
        return self.findings[which]

    def __rich__(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table("", "probe", "what was seen", "false alarm", box=box.SIMPLE_HEAD)
        for mark, *cells in self._cells():
            table.add_row(Text(mark, style="bold red" if mark == "LEAK" else ""), *map(Text, cells))
        return table

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self.__rich__())
        return "\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n"))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{each}</th>" for each in ("", "probe", "what was seen", "false alarm"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        return f"<table><tr>{head}</tr>{rows}</table>"

    def _cells(self) -> list[list[str]]:
        return [
            [each.mark, each.name, printable(each.sentence), f"{each.false_alarm:.0e}" if each.false_alarm else "none"]
            for each in self.findings
        ]


def unmeasured(name: str, why: str) -> Finding:
    """A probe that does not apply, and why."""
    return Finding(name, violated=False, sentence=f"Not probed: {why}", probed=False)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[object]", value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if hasattr(value, "item"):
        return _plain(value.item())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
