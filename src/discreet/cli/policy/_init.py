"""`discreet policy init`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import listed_names
from discreet.elapsed import elapsed
from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    from discreet.cli.policy._codebook import Codebook
    from discreet.cli.policy._skeleton import PolicyDraft
    from discreet.engines import Declared

__all__ = ["EXAMPLES", "init"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet policy init visits.parquet\n\n"
    "  discreet policy init shop.duckdb --unit customer_id --tables orders,returns --output shop.toml\n\n"
    "  discreet policy init visits.csv --unit person_id --max-rows 5 --epsilon 1 --output visits.toml\n\n"
    "  discreet policy init visits.csv --codebook codebook.csv --ask --output visits.toml\n\n"
    "  discreet policy init visits.csv --types schema.sql --columns age,city --unit rows --epsilon 1 -o visits.toml"
)
_TYPES = "Types that the data do not declare"
_DECIDE = "What only the owner of the data decides"


def init(  # noqa: PLR0913 — an option each
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A Parquet, CSV or DuckDB file, postgresql://USER@HOST/DATABASE, or spark://HOST:PORT.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where to write the policy; an existing file is left as it is. Default: print it.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            "--unit",
            metavar="[TABLE=]COLUMN|rows",
            show_default=False,
            rich_help_panel=_DECIDE,
            help="Whom a row is about: the column that names the person, or rows if every row is another person. "
            "Repeatable, for one table each.",
        ),
    ] = None,
    max_rows: Annotated[
        str | None,
        typer.Option(
            "--max-rows",
            metavar="N|auto",
            show_default=False,
            rich_help_panel=_DECIDE,
            help="At most this many rows of one person count; with auto, as many as each query chooses.",
        ),
    ] = None,
    max_groups: Annotated[
        int | None,
        typer.Option(
            "--max-groups",
            metavar="N",
            min=1,
            max=1_000_000,
            show_default=False,
            rich_help_panel=_DECIDE,
            help="At most this many groups of one person count in a query. Default: as many as rows.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="E", show_default=False, rich_help_panel=_DECIDE, help="ε of the budget, as 1 or 1/10."),
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(metavar="R", show_default=False, rich_help_panel=_DECIDE, help="Or ρ of zCDP."),
    ] = None,
    mu: Annotated[
        str | None,
        typer.Option(metavar="M", show_default=False, rich_help_panel=_DECIDE, help="Or μ of Gaussian DP."),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            show_default=False,
            rich_help_panel=_DECIDE,
            help="δ of the budget, which GROUP BY over private keys needs; far below 1 / number of people. "
            "0: none. Default: 1e-6.",
        ),
    ] = None,
    version: Annotated[
        str,
        typer.Option(
            "--version", metavar="LABEL", rich_help_panel=_DECIDE, help="A public label of this state of the data."
        ),
    ] = "1",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="A,B,C", show_default=False, rich_help_panel=_DECIDE, help="Only these columns."
        ),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables", metavar="A,B,C", show_default=False, rich_help_panel=_DECIDE, help="Only these tables."
        ),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(
            "--types",
            metavar="FILE.sql",
            show_default=False,
            rich_help_panel=_TYPES,
            help="CREATE TABLE statements, in any common dialect.",
        ),
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook",
            metavar="FILE",
            show_default=False,
            rich_help_panel=_TYPES,
            help="CSV (column, type, and lower, upper, keys, label) or TOML, see docs/policy.md.",
        ),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask, in this terminal, for what is still open: types, unit, caps, budget.")
    ] = False,
) -> None:
    """Write a policy from column names and declared types alone. No value is read.

    What only the owner of the data can decide is taken from the options, or left open in the text: the policy is
    refused until it is decided.
    """
    from discreet.cli.policy._codebook import read_codebook
    from discreet.cli.policy._drafting import Decisions, draft_tables, match_types, row_cap
    from discreet.cli.policy._next_steps import next_steps
    from discreet.cli.policy._skeleton import PolicyDraft, skeleton
    from discreet.engines import declared_tables
    from discreet.query import created_tables

    if ask:
        _check_terminal()
    if output is not None and output.exists():
        raise _occupied(output)
    decisions = Decisions(
        unit or (),
        listed_names(tables, "--tables"),
        listed_names(columns, "--columns"),
        None if max_rows is None else row_cap(max_rows),
        max_groups,
    )
    budget = _budget(epsilon, rho, mu, delta)
    book: Codebook = {} if codebook is None else read_codebook(codebook)
    with elapsed():
        declared = declared_tables(data)
    guessed = {(t, c) for t, names in declared.items() for c in names} if _is_untyped(data) else set[tuple[str, str]]()
    if types is not None:
        declared, known = match_types(declared, created_tables(_sql(types)))
        guessed -= known
    draft = PolicyDraft(_shown(data), draft_tables(declared, decisions, book, guessed), version, budget)
    if ask:
        from discreet.cli.policy._ask import asked

        draft = asked(draft, delta)
    text = skeleton(draft)
    _check(text, draft)
    _note(declared, book)
    if output is None:
        typer.echo(text, nl=False)
        return
    _write(output, text)
    typer.echo(next_steps(draft, data, output), err=True)


def _is_untyped(data: str) -> bool:
    """Whether the data are CSV files, which declare no types."""
    return re.search(r"\.[ct]sv(\.gz)?($|&)", data, re.IGNORECASE) is not None


def _shown(data: str) -> str:
    """The data by name, without what a URL may hold."""
    scheme, sign, _ = data.partition("://")
    return f"the tables at {scheme}://" if sign else Path(data).name


def _sql(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}; name a file of CREATE TABLE") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text; save it so") from None


def _budget(epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> Mapping[str, str] | None:
    """The section of the budget, None if no option names it."""
    from discreet.cli._options import spend_of
    from discreet.cli.policy._skeleton import budget_section

    wanted = "1e-6" if delta is None and (epsilon or rho or mu) else delta
    if spend_of(epsilon, rho, mu, None if wanted == "0" else wanted) is None:
        return None
    given = {"epsilon": epsilon, "rho": rho, "mu": mu, "delta": None if wanted == "0" else wanted}
    return budget_section({name: value for name, value in given.items() if value is not None})


def _check(text: str, draft: PolicyDraft) -> None:
    """Raise `ParameterError` for decisions that do not go together, which the policy would be refused for."""
    import tomllib
    from decimal import Decimal

    from discreet.errors import PolicyError
    from discreet.policy import load_policy

    if draft.undecided:
        return
    try:
        load_policy(tomllib.loads(text, parse_float=Decimal))
    except PolicyError as error:
        words = "; ".join(f"{'.'.join(where)}: {what}" for where, what in error.problems)
        raise ParameterError(f"no policy can say this: {words}") from None


def _note(declared: Mapping[str, Declared], book: Codebook) -> None:
    """Say what was given and is not used."""
    names = {column.casefold() for columns in declared.values() for column in columns}
    if spare := [name for name in book if name.casefold() not in names]:
        typer.echo(printable(f"note: the data lack what the codebook describes: {', '.join(spare)}"), err=True)
    everything = [column for columns in declared.values() for column in columns]
    if len(everything) == 1 and re.search("[;|\t]", everything[0]):
        typer.echo(
            printable(f"note: there is one column, called {everything[0]}: a .csv has commas, a .tsv tabs"), err=True
        )


def _check_terminal() -> None:
    import sys

    streams = (sys.stdin, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):  # pyright: ignore[reportUnnecessaryComparison]
        raise ParameterError("--ask needs a terminal; without one, say --unit, --max-rows, --epsilon and --codebook")


def _occupied(output: Path) -> ParameterError:
    return ParameterError(f"{output} exists and is left as it is; name another file, or remove it first")


def _write(output: Path, text: str) -> None:
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _occupied(output) from None
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror}; name another file") from None
