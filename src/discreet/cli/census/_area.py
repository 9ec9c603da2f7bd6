"""`discreet census area`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import LevelOption, check_level
from discreet.cli.census._options import PublicationArgument, UniverseOption, universe_of
from discreet.cli.ledger._options import Shape, ShapeOption

if TYPE_CHECKING:
    from discreet.census import Ratio

__all__ = ["EXAMPLES", "area"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census area country/ b17 b18\n\n"
    "  discreet census area country/ county:Essex b18 --where \"age < 18 AND sex = 'F'\"\n\n"
    '  discreet census area country/ county:Essex --where ill --among "age < 18" --per 100000\n\n'
    "  discreet census area country/ county:Essex --for-each households"
)


def area(  # noqa: PLR0913 — an option each
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
    among: Annotated[
        str | None,
        typer.Option("--among", metavar="SQL", show_default=False, help="A rate: among people of whom this holds."),
    ] = None,
    population: Annotated[
        float | None,
        typer.Option(
            "--population", metavar="NUMBER", show_default=False, help="A rate: of so many people, as is public."
        ),
    ] = None,
    per: Annotated[
        float | None,
        typer.Option("--per", metavar="NUMBER", show_default=False, help="A rate: per so many; 100000."),
    ] = None,
    universe: UniverseOption = None,
    for_each: Annotated[
        str | None,
        typer.Option(
            "--for-each", metavar="NAME", show_default=False, help="A rate: for each row of this universe; --per is 1."
        ),
    ] = None,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """How many people some areas have together, or a rate, with the interval of the unbiased number. Spends nothing."""
    from discreet.census import load
    from discreet.cli._output import print_json

    check_level(level)
    published = universe_of(load(folder), universe)
    levels = published.layout.spec.geography.levels
    named = [_named(each, levels) for each in areas]
    if not (among is None and population is None and per is None and for_each is None):
        many = (100_000 if for_each is None else 1) if per is None else per
        rate = published.rate(where, areas=named, among=among, universe=for_each, population=population, per=many)
        _print_rate(rate, many, level, form)
        return
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


def _print_rate(rate: Ratio, per: float, level: float, form: Shape) -> None:
    from discreet.cli._output import print_json

    low, high = rate.interval(level)
    if form is Shape.json:
        numbers = {"value": rate.value, "estimate": rate.estimate, "standard_error": rate.standard_error}
        ends = {"lower": low, "upper": high}
        finite = {name: each if math.isfinite(each) else None for name, each in (numbers | ends).items()}
        print_json({**finite, "per": per, "level": level})
        return
    digits = 1 if per > 1 else 3
    above = "no upper end: there may be nobody below" if math.isinf(high) else f"to {high:,.{digits}f}"
    typer.echo(f"published {rate.value:,.{digits}f} per {per:,.10g}")
    typer.echo(f"estimate  {rate.estimate:,.{digits}f}, from {low:,.{digits}f} {above} at {100 * level:.10g} %")


def _named(text: str, levels: tuple[str, ...]) -> str | tuple[str, str]:
    level, colon, name = text.partition(":")
    return (level, name) if colon and level in levels else text
