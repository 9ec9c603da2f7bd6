"""What was found, beside the truth, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from people import SLANG

SHOWN = 10
_WIDTH = 100


def tell(figures: Mapping[str, Any]) -> None:
    """Print it all."""
    console = Console()
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    emoji, words = figures["emoji"], figures["words"]
    best = sorted(emoji["estimates"], key=lambda row: -row["frequency"])[:SHOWN]
    console.print(_beside_truth("Emoji that people like best", best, emoji, "value"))
    inside = sum(_within(row, emoji, "value") for row in emoji["estimates"])
    console.print(f"{inside} of {len(emoji['estimates'])} intervals of {emoji['level']:.0%} hold the truth.\n")
    console.print(_beside_truth("Words that nobody listed", words["estimates"][: 2 * SHOWN], words, "word"))
    console.print(_found(words), highlight=False)
    console.print(_costs(figures))
    console.print(
        f"All that a phone tells costs its person ε = {figures['once']:g}: that of the emoji and that of the word. "
        f"Told afresh every day it would be {figures['year']:,g} in a year, and with --memoize, the same report every "
        f"day, {figures['once']:g} for as long as neither changes.\n",
        highlight=False,
    )


def _beside_truth(title: str, rows: list[Mapping[str, Any]], told: Mapping[str, Any], name: str) -> Table:
    phones, truth = told["reports"], told["truth"]
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column(name if name == "word" else "emoji")
    for column in ("people, estimated", f"interval of {told['level']:.0%}", "truth", "within"):
        table.add_column(column, justify="right")
    for row in rows:
        low, high = (f"{row[end] * phones:,.0f}" for end in ("low", "high"))
        new = "  new" if row[name] in SLANG else ""
        inside = "yes" if _within(row, told, name) else "no"
        table.add_row(
            row[name] + new,
            f"{row['frequency'] * phones:,.0f}",
            f"{low} – {high}",
            f"{truth.get(row[name], 0):,}",
            inside,
        )
    return table


def _within(row: Mapping[str, Any], told: Mapping[str, Any], name: str) -> bool:
    share = told["truth"].get(row[name], 0) / told["reports"]
    return bool(row["low"] <= share <= row["high"])


def _found(words: Mapping[str, Any]) -> str:
    found, truth = [row["word"] for row in words["estimates"]], words["truth"]
    right = sum(truth.get(word, 0) > 0 for word in found)
    ranked = list(truth)
    recall = ", ".join(f"{len(set(found) & set(ranked[:k]))} of the {k}" for k in (10, 20, 50))
    new = sum(word in SLANG for word in found)
    precision = (
        f"{right} of {len(found)} words that were found were typed by somebody (precision {right / len(found):.0%})"
    )
    return (
        f"{precision if found else 'No word was found'}; {recall} most frequent words were found (recall), and {new} "
        f"of the {len(SLANG)} new ones.\n"
    )


def _costs(figures: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What it cost", title_justify="left", title_style="bold")
    table.add_column("")
    for question in ("emoji", "words"):
        table.add_column(question, justify="right")
    both = [figures[question] for question in ("emoji", "words")]
    for what, shown in (
        ("ε of a report", lambda each: f"{each['epsilon']:g}"),
        ("bytes of a report", lambda each: f"{each['width']}"),
        ("bytes posted for a phone", lambda each: f"{each['posted'] / each['reports']:.2f}"),
        ("batches, of them sent twice", lambda each: f"{each['batches']:,}, {each['repeats']:,}"),
        ("reports counted, rejected", lambda each: f"{each['reports']:,}, {each['rejected']:,}"),
        ("CPU seconds: phones, perturbing", lambda each: f"{each['encoding']:.2f}"),
        ("CPU seconds: phones, posting", lambda each: f"{each['sending']:.2f}"),
        ("CPU seconds: collector", lambda each: f"{each['collecting']:.2f}"),
        ("CPU seconds: estimate and plot", lambda each: f"{each['estimating']:.2f}"),
    ):
        table.add_row(what, *(shown(each) for each in both))
    table.caption = f"{figures['phones']:,} phones reported in {figures['seconds']:.1f} s"
    table.caption_justify = "left"
    return table
