"""Options that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss

__all__ = [
    "LONGEST_QUERY",
    "CapOption",
    "DataOption",
    "DeltaOption",
    "DialectOption",
    "EpsilonOption",
    "FileOption",
    "Format",
    "FormatOption",
    "LedgerOption",
    "LevelOption",
    "MuOption",
    "OptionalDataOption",
    "OptionalLedgerOption",
    "OptionalPolicyOption",
    "OptionalSourceOption",
    "PolicyOption",
    "RhoOption",
    "RowsOption",
    "SaveOption",
    "SqlArgument",
    "check_level",
    "listed_names",
    "source_of",
    "spend_of",
    "sql_of",
]


_SPEND = "Spend: exactly one currency"
_DATA = (
    "The source of a table: Parquet, CSV or a DuckDB file, postgresql://USER@HOST/DATABASE, or spark://HOST:PORT. Once "
    "for each table of the policy; NAME= may be left out if the policy has one table, or the source holds them all."
)


_LEDGER = "The file, or postgresql:// URL, that keeps the budget; made, with the policy's budget, if there is none."

LONGEST_QUERY = 1_000_000
"""In bytes; what is longer is no query that the planner takes."""


def sql_of(text: str | None, file: Path | None) -> str:
    """The query: the argument itself, or what stands in the file, or for ``-`` on standard input.

    Raises `ParameterError` for no query, for two, and for what is no text.
    """
    if text is not None and file is not None:
        raise ParameterError("the query is given twice, as SQL and by --file: leave one of them out")
    if text is None and file is None:
        raise ParameterError('say what to ask: a query, as "SELECT COUNT(*) FROM visits", or --file question.sql')
    if text is not None and text != "-":
        return text
    if text == "-" or str(file) == "-":
        return _typed(_standard_input(), "what stands on standard input")
    assert file is not None
    try:
        with file.open("rb") as opened:
            return _typed(opened.read(LONGEST_QUERY + 1), f"what stands in --file {file}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise ParameterError(f"--file {file}: {reason}; name a file with a query that this user may read") from None


def _standard_input() -> bytes:
    import sys

    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        raise ParameterError("`-` reads the query from standard input: write `discreet query - < question.sql`")
    return sys.stdin.buffer.read(LONGEST_QUERY + 1)


def _typed(read: bytes, what: str) -> str:
    """The text of what was read; raises `ParameterError` if it is empty, too long, or not UTF-8."""
    if len(read) > LONGEST_QUERY:
        raise ParameterError(f"{what} is longer than {LONGEST_QUERY:,} bytes; it is no query")
    try:
        text = read.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{what} is not UTF-8 text") from None
    if not text.strip():
        raise ParameterError(f"{what} is empty: write a SELECT there")
    return text


class Format(StrEnum):
    """How to print an answer."""

    table = "table"
    csv = "csv"
    json = "json"


SqlArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SQL", show_default=False, help="A SELECT; `-` reads it from standard input. Or else: --file."
    ),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", metavar="FILE", show_default=False, help="A file with the query, in place of SQL; `-` as above."
    ),
]
DialectOption = Annotated[
    str,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="The SQL that the query is written in: duckdb, postgres, spark, bigquery, snowflake or tsql.",
    ),
]
DataOption = Annotated[list[str], typer.Option("--data", "-d", metavar="[NAME=]SOURCE", show_default=False, help=_DATA)]
OptionalDataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        "-d",
        metavar="[NAME=]SOURCE",
        show_default=False,
        help="As for `discreet query`; only names and types are checked. Default: the policy alone is enough.",
    ),
]
PolicyOption = Annotated[
    Path, typer.Option("--policy", "-p", metavar="FILE", show_default=False, help="The TOML file of public facts.")
]
LedgerOption = Annotated[
    str,
    typer.Option(
        "--ledger",
        "-l",
        metavar="LEDGER",
        show_default=False,
        help=_LEDGER,
    ),
]
OptionalSourceOption = Annotated[
    list[str] | None, typer.Option("--data", "-d", metavar="[NAME=]SOURCE", show_default=False, help=_DATA)
]
OptionalPolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", "-p", metavar="FILE", show_default=False, help="The TOML file of public facts."),
]
OptionalLedgerOption = Annotated[
    str | None, typer.Option("--ledger", "-l", metavar="LEDGER", show_default=False, help=_LEDGER)
]
EpsilonOption = Annotated[
    str | None,
    typer.Option(
        metavar="E", show_default=False, rich_help_panel=_SPEND, help="ε of pure DP, greater than 0, as 0.1 or 1/10."
    ),
]
RhoOption = Annotated[
    str | None,
    typer.Option(
        metavar="R", show_default=False, rich_help_panel=_SPEND, help="ρ of zCDP, greater than 0: Gaussian noise."
    ),
]
MuOption = Annotated[
    str | None,
    typer.Option(
        metavar="M",
        show_default=False,
        rich_help_panel=_SPEND,
        help="μ of Gaussian DP, with Gaussian noise.",
    ),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="D",
        show_default=False,
        rich_help_panel=_SPEND,
        help="δ beside ε or ρ, at least 0 and below 1; private keys need one. Default: 0.",
    ),
]
LevelOption = Annotated[
    float, typer.Option(metavar="P", help="Confidence of the error bars, strictly between 0 and 1.")
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        "--assume-rows",
        metavar="N",
        min=1,
        max=10**15,
        show_default=False,
        help="A public guess of the number of rows, for the errors of averages. Default: none.",
    ),
]
CapOption = Annotated[
    int | None,
    typer.Option(
        "--assume-cap",
        metavar="N",
        min=1,
        max=1_000_000,
        show_default=False,
        help='A guess of the cap on a person\'s rows, where the policy says max_rows = "auto". Default: none.',
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        show_default=False,
        help="Also write the whole release with its certificate to a new file, for `discreet verify`.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the answer; see docs/cli.md.")]


def check_level(level: float) -> float:
    """The level, before anything is spent; raises `ParameterError` outside (0, 1)."""
    if not 0 < level < 1:
        raise ParameterError(f"--level must lie strictly between 0 and 1, for example 0.95; got {level}")
    return level


_NAMED = re.compile(r"([^=/\\.]+)=(.+)", re.DOTALL)


def listed_names(text: str | None, option: str) -> list[str] | None:
    """The names in a list with commas between them; a name with a comma stands in double quotes.

    >>> listed_names('age, "city, state"', "--columns")
    ['age', 'city, state']
    """
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ParameterError(f"{option} takes names with commas between them, as in a,b,c")
    return names


def source_of(data: Sequence[str]) -> str | dict[str, str]:
    """A path for every table, or a dict from a table's name to its path.

    >>> source_of(["visits=in/visits.csv"]), source_of(["shop.duckdb"])
    ({'visits': 'in/visits.csv'}, 'shop.duckdb')
    """
    named: dict[str, str] = {}
    for item in data:
        match = _NAMED.fullmatch(item)
        if match is None:
            if len(data) > 1:
                raise ParameterError(f"with several --data each says its table: write NAME={item}")
            return item
        name, path = match.groups()
        if name.casefold() in (known.casefold() for known in named):
            raise ParameterError(f"--data names the table {name} twice")
        named[name] = path
    return named


def spend_of(epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> Loss | None:
    """The loss that the options name; None if they name none. Raises `ParameterError` for more than one."""
    from discreet import privacy

    given = [f"--{name}" for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) > 1:
        raise ParameterError(f"a spend has one currency: give one of {', '.join(given)}, not {len(given)} of them")
    if mu is not None:
        return privacy.mu(mu, "0" if delta is None else delta)
    if epsilon is not None:
        return privacy.pure(epsilon) if delta is None else privacy.approx(epsilon, delta)
    if rho is not None:
        return privacy.rho(rho, "0" if delta is None else delta)
    if delta is not None:
        raise ParameterError("--delta stands beside --epsilon, --rho or --mu: give one of them too")
    return None
