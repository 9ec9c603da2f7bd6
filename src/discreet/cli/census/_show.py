"""`discreet census show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from discreet.cli._options import LevelOption, check_level
from discreet.cli.census._options import PlotOption, PublicationArgument, UniverseOption, universe_of
from discreet.cli.census._saved import show_file
from discreet.cli.ledger._options import Shape, ShapeOption

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census show country/\n\n"
    "  discreet census show country/ --table age_sex --by county\n\n"
    "  discreet census show country/ --universe households --table size --by county\n\n"
    "  discreet census show country/ --plot sizes.svg --draw sizes\n\n"
    "  discreet census show marginals.json --table age,sex"
)


class Pictures(StrEnum):
    """What to draw."""

    errors = "errors"
    sizes = "sizes"
    values = "values"
    shares = "shares"


def show(  # noqa: PLR0913 — an option each
    folder: PublicationArgument,
    *,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", show_default=False, help="Show this table.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="LEVEL", show_default=False, help="At which level, or kind of districts; default: the last."
        ),
    ] = None,
    universe: UniverseOption = None,
    plot: PlotOption = None,
    draw: Annotated[
        Pictures, typer.Option("--draw", help="Errors by level, or by size of area; values; or shares of the spend.")
    ] = Pictures.errors,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """Show a publication: how wrong its numbers are, or one of its tables. Spends nothing.

    Of a file, it shows the histogram or the marginals there; --table then names the columns of one, as age,sex.
    """
    from discreet.census import load
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable

    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    if folder.is_file():
        show_file(folder, table, plot, level, form)
        return
    published = universe_of(load(folder), universe)
    if plot is not None:
        from discreet.explain import save

        save(published.plot(draw.value, table, by), plot)
    shown = published.report() if table is None else published.shown_table(table, by, level)
    if form is Shape.json:
        print_json(
            {"rows": [dict(zip((name for name, _ in shown.header()), row, strict=True)) for row in shown.cells()]}
        )
        return
    print_table(shown.rich_table())
    typer.echo(printable(shown.note()))
