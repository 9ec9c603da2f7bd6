"""`discreet collect estimate`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import LevelOption, check_level
from discreet.cli.collect._options import StoreOption
from discreet.errors import DataError, DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.local import AttributesEstimate, Server

__all__ = ["EXAMPLES", "estimate"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet collect estimate --store emoji.store\n\n"
    "  discreet collect estimate --scheme words.json --store words.store --candidates words.txt --json\n\n"
    "  discreet collect estimate --store emoji.store --level 0.99 --plot emoji.svg"
)

_SHOWN = 20


def estimate(  # noqa: PLR0913 (options of a command line)
    *,
    store: StoreOption,
    scheme: Annotated[
        Path | None,
        typer.Option(
            "--scheme",
            "-s",
            metavar="FILE",
            show_default=False,
            help="The document to read by; the store must hold its reports. Default: the store's own.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="For schemes without a domain: the texts to look for, one a line."
        ),
    ] = None,
    level: LevelOption = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all estimates.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Also draw estimates and intervals: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
) -> None:
    """Estimate from all reports that were acknowledged so far; the collector may be running.

    Costs no privacy: devices have paid. Each interval holds its value with probability --level by itself.
    """
    from discreet.cli.collect._options import lines_of, read_file, scheme_from
    from discreet.elapsed import elapsed
    from discreet.server.collector import read_store

    check_level(level)
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    names = None if candidates is None else lines_of(read_file(candidates, "--candidates"), "--candidates")
    with elapsed():
        server = read_store(store, None if scheme is None else scheme_from(scheme))
        estimates = server.estimate() if names is None else server.estimate(names)
        rows = _rows(estimates, level)
    if plot is not None and rows and "attribute" in rows[0]:
        raise ParameterError("several attributes cannot share a plot; leave --plot out, and plot from --json")
    if as_json:
        _print_json(server, rows, level)
    else:
        _print(server, rows, level, chosen=names is None)
    if plot is not None:
        from discreet.explain import estimate_chart, save

        if not rows:
            raise DataError("nothing was found, so there is nothing to plot; wait for more reports")
        save(estimate_chart(rows), plot)


def _rows(estimate: Any, level: float) -> list[dict[str, Any]]:
    """An estimate of any kind, a mapping for each number that it estimates."""
    import inspect

    from discreet.local import AttributesEstimate

    if isinstance(estimate, AttributesEstimate):
        return [row for name in estimate for row in _rows_of_part(estimate, name, level)]
    if hasattr(estimate, "to_arrow"):
        leveled = "level" in inspect.signature(estimate.to_arrow).parameters
        return (estimate.to_arrow(level) if leveled else estimate.to_arrow()).to_pylist()
    low, high = estimate.interval(level)
    return [{"value": "mean", "mean": estimate.mean, "stderr": estimate.stderr, "low": low, "high": high}]


def _rows_of_part(estimates: AttributesEstimate, name: str, level: float) -> list[dict[str, Any]]:
    """Rows that say their attribute; one without an estimate where nobody has reported it, or it needs candidates."""
    try:
        rows = _rows(estimates[name], level)
    except DiscreetError:
        rows = list[dict[str, Any]]([{}])
    reports = estimates.servers[name].reports
    return [
        {"attribute": f"{name}.{row['attribute']}" if "attribute" in row else name, "reports": reports}
        | {each: row[each] for each in row if each != "attribute"}
        for row in rows
    ]


def _print_json(server: Server[Any], rows: list[dict[str, Any]], level: float) -> None:
    from discreet.cli._output import print_json

    plain = [{name: _finite(value) for name, value in row.items()} for row in rows]
    print_json(
        {
            "scheme": server.scheme.protocol,
            "fingerprint": server.scheme.fingerprint.hex(),
            "reports": server.reports,
            "rejected": server.rejected,
            "level": level,
            "estimates": plain,
        }
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print(server: Server[Any], rows: list[dict[str, Any]], level: float, *, chosen: bool) -> None:
    from itertools import groupby

    from discreet.errors import printable

    for attribute, some in groupby(rows, lambda row: row.get("attribute")):
        part = list(some)
        if attribute is not None:
            typer.echo(f"{printable(attribute)}: {part[0]['reports']:,} reports")
        plain = [{name: row[name] for name in row if name not in ("attribute", "reports")} for row in part]
        _print_table(plain if attribute is not None else part)
    typer.echo(f"{server.reports:,} reports of {server.scheme.protocol}; {server.rejected:,} rejected")
    if any({"low", "high", "stderr"} <= row.keys() for row in rows):
        before = ", before the choice of which words to tell" if chosen and any("word" in row for row in rows) else ""
        typer.echo(f"each interval holds its value with probability {level:g}{before}")


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet.cli._output import print_table

    if rows == [{}]:
        typer.echo("  no estimate: nobody has reported it yet, or it needs candidates")
        return
    frequencies = bool(rows) and "frequency" in rows[0]
    shown = sorted(rows, key=lambda row: -row["frequency"])[:_SHOWN] if frequencies else rows
    table = Table(box=box.SIMPLE)
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name in ("value", "word") else "right")
    for row in shown:
        table.add_row(*(Text(_shown(value)) for value in row.values()))
    print_table(table)
    if len(shown) < len(rows):
        typer.echo(f"… and {len(rows) - len(shown):,} more values; --json has them all")


def _shown(value: Any) -> str:
    from discreet.errors import printable

    return f"{value:.5g}" if isinstance(value, float) else printable(str(value))
