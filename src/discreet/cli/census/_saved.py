"""`discreet census show` of a file, and `discreet census range`: histograms and marginals that were published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli._options import LevelOption, check_level, listed_names
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.errors import LedgerError

__all__ = ["EXAMPLES", "count_range", "show_file"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census range income.json 20000 35000\n\n"
    "  discreet census range income.json - 35000 --level 0.99\n\n"
    "An end is a value of the column; all of its cell counts. `-` is the end of the column."
)
_FIRST = 50


def show_file(path: Path, columns: str | None, plot: Path | None, level: float, form: Shape) -> None:
    """Show what `discreet census histogram` or `marginals` published: it, or the marginal over some columns."""
    from discreet.census import Histogram, MarginalTables
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.release import load

    loaded = load(path)
    if not isinstance(loaded, Histogram | MarginalTables):
        raise LedgerError(f"{path} holds no histogram and no marginals, but a {type(loaded).__name__}")
    names = listed_names(columns, "--table") or []
    if plot is not None:
        from discreet.explain import save

        drawn = loaded.plot(level) if isinstance(loaded, Histogram) else loaded.plot(*names, level=level)
        save(drawn, plot)
    table = _rows(loaded, names, level)
    if form is Shape.json:
        print_json({"rows": table.to_pylist()} if table is not None else loaded.to_dict(level))
        return
    print_table(loaded.rich_table(level, _FIRST) if table is None or isinstance(loaded, Histogram) else _printed(table))
    cut = "" if table is None or table.num_rows <= _FIRST else f"first {_FIRST} of {table.num_rows:,}; "
    typer.echo(printable(cut + loaded.note(level)))


def _rows(loaded: Any, names: list[str], level: float) -> Any:
    from discreet.census import Histogram

    if isinstance(loaded, Histogram):
        return loaded.table(level)
    return loaded.table(*names, confidence=level) if names else None


def _printed(table: Any) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet.errors import printable

    printed = Table(box=box.SIMPLE_HEAD)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        printed.add_column(Text(printable(name)), justify="left" if str(kind) == "string" else "right")
    for row in table.slice(0, _FIRST).to_pylist():
        printed.add_row(*(Text(printable(f"{x:,.1f}" if isinstance(x, float) else str(x))) for x in row.values()))
    return printed


def count_range(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", show_default=False, help="A histogram, as `discreet census histogram` writes."),
    ],
    lower: Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="The first value; `-` for any.")],
    upper: Annotated[str, typer.Argument(metavar="TO", show_default=False, help="The last value; `-` for any.")],
    *,
    level: LevelOption = 0.95,
    form: ShapeOption = Shape.table,
) -> None:
    """How many rows are in a range of a histogram, with the interval of the unbiased number. Spends nothing."""
    from discreet.census import load_histogram
    from discreet.cli._output import print_json
    from discreet.cli.synth._options import given_values

    check_level(level)
    loaded = load_histogram(path)
    column = loaded.column
    first, last = (
        None if text == "-" else given_values([f"{column.name}={text}"], [column], "a range")[column.name]
        for text in (lower, upper)
    )
    count = loaded.range(first, last)
    low, high = count.interval(level)
    if form is Shape.json:
        print_json({
            "value": count.value, "unbiased": count.unbiased, "standard_error": count.standard_error,
            "lower": low, "upper": high, "level": level,
        })  # fmt: skip
        return
    typer.echo(f"published {count.value:,}")
    typer.echo(f"unbiased  {count.unbiased:,.1f}, from {low:,.1f} to {high:,.1f} at {100 * level:.10g} %")
