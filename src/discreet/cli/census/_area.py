"""`discreet census area`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli._options import LevelOption, check_level
from discreet.cli.census._options import PublicationArgument
from discreet.cli.ledger._options import Shape, ShapeOption

__all__ = ["EXAMPLES", "area"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census area country/ b17 b18\n\n"
    "  discreet census area country/ county:Essex b18 --where \"age < 18 AND sex = 'F'\""
)


def area(
    folder: PublicationArgument,
    areas: Annotated[
        list[str],
        typer.Argument(
            metavar="AREA...",
            show_default=False,
            help="Areas of any level, none in another; LEVEL:AREA for one of several.",
        ),
    ],
    *,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", show_default=False, help="Only cells in which this condition holds."),
    ] = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """How many people some areas have together, with the interval of the unbiased number. Spends nothing."""
    from discreet.census import load
    from discreet.cli._output import print_json

    check_level(level)
    published = load(folder)
    levels = published.layout.spec.geography.levels
    named = [_named(each, levels) for each in areas]
    total = published.total(areas=named, where=where)
    low, high = total.interval(level)
    if form is Shape.json:
        print_json({
            "value": total.value, "unbiased": total.unbiased, "standard_error": total.standard_error,
            "lower": low, "upper": high, "level": level,
        })  # fmt: skip
        return
    typer.echo(f"published {total.value:,}")
    typer.echo(f"unbiased  {total.unbiased:,.1f}, from {low:,.1f} to {high:,.1f} at {100 * level:.10g} %")


def _named(text: str, levels: tuple[str, ...]) -> str | tuple[str, str]:
    level, colon, name = text.partition(":")
    return (level, name) if colon and level in levels else text
