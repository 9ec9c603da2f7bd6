"""A plan as a table: a row for each column of the answer, with what it is, its noise and its error."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import printable
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection
from discreet.privacy import in_words
from discreet.query._checked_query import CheckedQuery
from discreet.query._explain import DEPENDS_ON_CAP, NO_BAR, count_error, mechanisms_of, rank_error
from discreet.query.budget._noise import NEARLY_ALWAYS, Level, keys_of
from discreet.query.measures._bounded import GroupKey
from discreet.query.measures._measures import Product, Sum
from discreet.query.results._answer import QUANTILE
from discreet.query.results._intervals import check_level
from discreet.query.results._words import answer_words

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

__all__ = ["PlanTable", "ShownTable", "plan_table"]


@dataclass(frozen=True, slots=True)
class PlanTable:
    """The cells of the table, its header, and the lines below it; columns of `numbers` are set to the right."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str]
    numbers: Container[str] = ()

    def rich_table(self) -> Table:
        """The table for a terminal."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for name in self.header:
            table.add_column(Text(printable(name)), justify="right" if name in self.numbers else "left")
        for row in self.rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        return table

    def to_text(self) -> str:
        """The table and its notes as plain text, as wide as it is."""
        from rich.console import Console
        from rich.measure import Measurement

        console = Console(color_system=None, force_terminal=False)
        table = self.rich_table()
        console.width = Measurement.get(console, console.options.update(width=10_000), table).maximum
        with console.capture() as capture:
            console.print(table)
        lines = [line.rstrip() for line in capture.get().splitlines()]
        return "\n".join([*filter(None, lines), "", *self.notes])

    def to_html(self) -> str:
        """The table and its notes as HTML. What cannot be printed is written as an escape."""

        def row(tag: str, cells: Sequence[str]) -> str:
            sides = ("right" if name in self.numbers else "left" for name in self.header)
            parts = (
                f'<{tag} style="text-align: {side}">{html.escape(printable(cell))}</{tag}>'
                for side, cell in zip(sides, cells, strict=True)
            )
            return f"<tr>{''.join(parts)}</tr>"

        head, body = row("th", self.header), "".join(row("td", cells) for cells in self.rows)
        notes = "".join(f"<p>{html.escape(printable(note))}</p>" for note in self.notes)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{notes}"


class ShownTable(ABC):
    """What shows itself as the table that `shown` gives: in a terminal, as text, and in a notebook."""

    __slots__ = ()

    @abstractmethod
    def shown(self) -> PlanTable:
        """The table, with its notes."""

    def __str__(self) -> str:
        return self.shown().to_text()

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Group:
        from rich.console import Group

        shown = self.shown()
        return Group(shown.rich_table(), *map(printable, shown.notes))

    def _repr_html_(self) -> str:
        return self.shown().to_html()


def plan_table(plan: CheckedQuery, level: float = 0.95) -> PlanTable:
    """What a plan makes of each column; `level` is that of the errors. Costs nothing and touches no data."""
    level = check_level(level)
    words = answer_words({"query": plan.sql}).columns
    noisy = plan.noisy
    by_name = {key.name: key for key in keys_of(plan.levels)}
    shown = _discovery(plan)
    rows = [
        (item.alias, words.get(item.alias, item.alias), _noise(plan, item.alias), _error(plan, item.alias, level))
        if item.alias in noisy
        else (item.alias, *_key(item, by_name, shown))
        for item in plan.select.expressions
    ]
    return PlanTable(("column", "is", "noise", f"error, {100 * level:.10g} %"), rows, _notes(plan, rows))


def _discovery(plan: CheckedQuery) -> tuple[str, str]:
    """How private keys are discovered, and which may be missing."""
    discoveries = [
        each.noise.selection for each in plan.levels if each.noise is not None and each.noise.selection is not None
    ]
    if not discoveries:
        return "discovered", "rare ones are left out"
    least = max(each.shown_from(NEARLY_ALWAYS) for each in discoveries)
    ways = {"partition selection" if isinstance(each, PartitionSelection) else "threshold" for each in discoveries}
    return " or ".join(sorted(ways)), f"fewer than {least:,} people: may be missing"


def _key(item: exp.Expr, keys: Mapping[str, GroupKey], discovery: tuple[str, str]) -> tuple[str, str, str]:
    if item.find(exp.Window) is not None:
        return "computed from the rows of the answer", "none", "none"
    key = keys.get(item.this.name)
    if key is None:
        return "computed from keys", "none", "none"
    if key.values is None:
        return ("key, private", *discovery)
    if key.is_unread:
        return "key, public: read from a table", "none", "none"
    return f"key, public: {len(key.values):,} value{'' if len(key.values) == 1 else 's'}", "none", "none"


def _noise(plan: CheckedQuery, column: str) -> str:
    """The noise that an output column is computed from, by laws, each scale in the unit of what it is added to."""
    if plan.loss is None:
        return ""
    if plan.cap is not None and plan.cap.chosen is None:
        return "depends on the cap"
    level, *others = plan.levels
    if others:
        return f"its own in each of {len(plan.levels)} grouping sets"
    laws: dict[str, list[str]] = {}
    for position in plan.measures_of(column):
        if position == QUANTILE:
            laws |= {name: [] for name in mechanisms_of(plan, column)}
            continue
        law, scale = _law(level, position)
        laws.setdefault(law, []).extend(scale)
    return "; ".join(f"{law} {' and '.join(dict.fromkeys(scales))}".rstrip() for law, scales in laws.items()) or "none"


def _law(level: Level, position: int) -> tuple[str, list[str]]:
    assert level.noise is not None
    mechanism, measure = level.noise.mechanisms[position], level.bounded.measures[position]
    step = float(measure.step) if isinstance(measure, Sum | Product) else 1.0
    match mechanism:
        case DiscreteLaplace(scale=scale):
            return "discrete Laplace, scale", [f"{float(scale) * step:,.4g}"]
        case DiscreteGaussian(sigma=sigma):
            return "discrete Gaussian, sigma", [f"{float(sigma) * step:,.4g}"]
        case Gaussian(sigma=sigma):
            return "rounded Gaussian, sigma", [f"{float(sigma) * step:,.4g}"]


def _error(plan: CheckedQuery, column: str, level: float) -> str:
    if plan.loss is None:
        return ""
    if plan.cap is not None and plan.cap.chosen is None:
        return "depends on the cap"
    half = plan.error(column, level)
    if half is not None:
        return f"± {'~' if plan.approximate(column) else ''}{half:,.4g}"
    if plan.barless(column):
        return NO_BAR
    rows = rank_error(plan, column, level)
    if rows is not None:
        return f"± {rows:,.4g} rows in rank"
    below = count_error(plan, column, level)
    if below is not None:
        return f"{below:,.4g} rows rarer at most"
    return "in rank; depends on the data" if QUANTILE in plan.measures_of(column) else "depends on the data"


def _notes(plan: CheckedQuery, rows: Sequence[tuple[str, ...]]) -> list[str]:
    if plan.loss is None:
        return ["no spend yet: plan(query, spend=dp.pure(0.5)) shows noise and errors"]
    errors = [row[-1] for row in rows]
    rough = "; ~ approximate" if any("± ~" in error for error in errors) else ""
    widest = ", in the widest of several sets" if len(plan.levels) > 1 else ""
    notes = [f"errors are half-widths of the noise{widest}{rough}; cost {in_words(plan.loss)}"]
    if plan.cap is not None:
        notes.append(f"one person's rows: {plan.cap.chosen:,} count, as assumed" if plan.cap.chosen else DEPENDS_ON_CAP)
    if plan.rows is None and plan.before is None and any("depends" in error for error in errors):
        notes.append('errors that depend on the data: plan with assume={"rows": n}; more in explain()')
    return notes
