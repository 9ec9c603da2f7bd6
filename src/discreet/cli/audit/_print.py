"""What `discreet audit` prints for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from discreet.errors import printable

if TYPE_CHECKING:
    from discreet.audit import Entry, Findings, Verdict
    from discreet.cli.audit._subjects import Asked

__all__ = ["print_audits", "print_entries"]


def print_entries(entries: Sequence[Entry], *, as_json: bool) -> None:
    """Our own mechanisms, in the order of the registry."""
    from discreet.cli._output import print_json, print_table
    from discreet.privacy import in_words, to_json

    if as_json:
        mechanisms = [
            {"name": each.name, "group": each.group, "shown": each.shown, "claim": to_json(each.claim)}
            for each in entries
        ]
        print_json({"mechanisms": mechanisms})
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "group", "claims", "made by", box=box.SIMPLE_HEAD)
    for each in entries:
        table.add_row(*map(Text, (each.name, each.group, in_words(each.claim), each.shown)))
    print_table(table)


def print_audits(done: Sequence[tuple[Asked, Verdict, Findings | None]]) -> None:
    """A row for each audit, a sentence for those that need one, and what was probed."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet.cli._output import print_table
    from discreet.privacy import in_words

    table = Table("mechanism", "claim", "delta", "claimed ε", "certified ε ≥", "outputs", "", box=box.SIMPLE_HEAD)
    for each, verdict, _ in done:
        mark = Text("VIOLATED", style="bold red") if verdict.violated else Text("not refuted")
        cells = (
            each.name,
            in_words(verdict.claim),
            f"{verdict.delta:g}",
            f"{verdict.claimed:.4g}",
            f"{math.floor(verdict.epsilon_lower * 1e4) / 1e4:.4f}",
            f"{verdict.samples:,}",
        )
        table.add_row(*map(Text, map(printable, cells)), mark)
    print_table(table)
    for each, verdict, findings in done:
        if verdict.violated or verdict.note is not None or len(done) == 1:
            typer.echo(printable(f"{each.name}: {verdict.sentence}"))
        if findings is not None:
            _print_findings(each.name, findings)
    refuted = sum(verdict.violated for _, verdict, _ in done)
    if len(done) > 1:
        typer.echo(f"{refuted} of {len(done)} claims refuted. What was not refuted is not proved.")


def _print_findings(name: str, findings: Findings) -> None:
    """What was seen in full, and what was not by name."""
    by_mark: dict[str, list[str]] = {}
    for each in findings:
        by_mark.setdefault(each.mark, []).append(each.name)
    typer.echo(f"\n{printable(name)}, probed:")
    for each in findings:
        if each.violated or each.warning:
            typer.echo(f"  {each}")
    for mark, names in by_mark.items():
        if mark not in ("LEAK", "look"):
            typer.echo(f"  {mark}  {', '.join(names)}")
