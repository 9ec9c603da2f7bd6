"""Every mechanism, local scheme and SQL statistic of the library, held to its claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import TYPE_CHECKING

from discreet.audit.black_box._verdict import Verdict
from discreet.audit.catalog._census import census_entries
from discreet.audit.catalog._detail import detail_entries
from discreet.audit.catalog._entry import Entry
from discreet.audit.catalog._examples import mechanism_entries, scheme_entries
from discreet.audit.catalog._graph_reports import graph_report_entries
from discreet.audit.catalog._graphs import graph_entries
from discreet.audit.catalog._histograms import histogram_entries
from discreet.audit.catalog._learning import learning_entries
from discreet.audit.catalog._marginals import marginal_entries
from discreet.audit.catalog._queries import sql_entries
from discreet.audit.catalog._synthetic import synthetic_entries
from discreet.errors import ParameterError
from discreet.rational import Number

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Audited", "entries", "entries_table", "find_entry", "run_entries"]


@dataclass(frozen=True, slots=True)
class Audited:
    """An entry, what was found, and the CPU time that it took, in seconds."""

    entry: Entry
    verdict: Verdict
    seconds: float

    @property
    def ratio(self) -> float:
        """How much of the claim was certified, in the unit in which it is most: see `Verdict.nearest`."""
        _, claimed, certified = self.verdict.nearest
        return certified / claimed if claimed else 0.0

    @property
    def violated(self) -> bool:
        """Whether the claim was refuted."""
        return self.verdict.violated


@cache
def entries() -> tuple[Entry, ...]:
    """An entry for each mechanism in all its variants, each local scheme, published tables, learning, and SQL.

    Costs no privacy: the data are made up.

    >>> [entry.name for entry in entries() if entry.name.startswith(("Exponential", "SQL a r"))]
    ['Exponential', 'Exponential monotone', 'SQL a ratio']
    """
    sql = tuple(each.entry for each in sql_entries())
    return (
        *mechanism_entries(),
        *scheme_entries(),
        *synthetic_entries(),
        *census_entries(),
        *histogram_entries(),
        *marginal_entries(),
        *detail_entries(),
        *graph_entries(),
        *graph_report_entries(),
        *learning_entries(),
        *sql,
    )


def find_entry(name: str) -> Entry:
    """The entry of that name, in any case.

    Raises `ParameterError` for a name that there is not, and says which are near.

    >>> find_entry("staircase wide").shown
    'Staircase(1, sensitivity=10)'
    """
    named = {entry.name.casefold(): entry for entry in entries()}
    entry = named.get(name.casefold())
    if entry is None:
        near = [named[each].name for each in get_close_matches(name.casefold(), named, n=3, cutoff=0.3)]
        raise ParameterError(
            f"there is no entry named {name!r}; "
            + (f"near are {', '.join(near)}" if near else "see discreet.audit.entries()")
        )
    return entry


def run_entries(
    chosen: Iterable[Entry | str] | None = None,
    *,
    samples: int | None = None,
    confidence: Number = 0.95,
    progress: Callable[[Entry, int, int], object] | None = None,
) -> list[Audited]:
    """Hold entries to their claims, one after the other.

    Parameters
    ----------
    chosen
        Entries or their names; all if left out.
    samples
        How many outputs to draw for each; left out, each entry draws as many as it says.
    confidence
        That of each verdict by itself: of 20 right claims at 0.95 one may be called violated.
    progress
        Called now and then with the entry, the outputs drawn so far, and all of them.

    Costs no privacy. Raises `ParameterError` for a name that there is not, and as `check` does.

    >>> [audited] = run_entries(["RandomizedResponse 2"], samples=20_000)
    >>> audited.violated, 0.8 < audited.verdict.epsilon_lower < 1
    (False, True)
    """
    taken = [find_entry(each) if isinstance(each, str) else each for each in (entries() if chosen is None else chosen)]
    return [_audited(entry, samples, confidence, progress) for entry in taken]


def _audited(
    entry: Entry, samples: int | None, confidence: Number, progress: Callable[[Entry, int, int], object] | None
) -> Audited:
    report = None if progress is None else partial(progress, entry)
    start = time.process_time()
    verdict = entry.check(samples=samples, confidence=confidence, progress=report)
    return Audited(entry, verdict, time.process_time() - start)


def entries_table(rows: Iterable[Audited]) -> Table:
    """A table for people: what was claimed and what was certified, in the unit in which that is most of the claim.

    >>> entries_table([]).title
    'Claimed and certified'
    """
    from rich import box
    from rich.table import Table

    table = Table("mechanism", title="Claimed and certified", box=box.SIMPLE_HEAD)
    for name in ("δ", "in", "claimed", "certified", "of it", "outputs", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("the event that shows it")
    for row in rows:
        verdict = row.verdict
        unit, claimed, certified = verdict.nearest
        table.add_row(
            row.entry.name,
            f"{verdict.delta:.3g}",
            unit,
            f"{claimed:.4g}",
            f"{certified:.4g}",
            "VIOLATED" if verdict.violated else f"{row.ratio:.2f}",
            f"{verdict.samples:,}",
            f"{row.seconds:.1f}",
            "none" if verdict.witness is None else _short(verdict.witness.event),
        )
    return table


def _short(event: str) -> str:
    return event if len(event) <= 60 else f"{event[:59]}…"
