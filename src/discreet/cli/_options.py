"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import ParameterError

__all__ = [
    "DataOption",
    "DeltaOption",
    "EpsilonOption",
    "Format",
    "FormatOption",
    "LedgerOption",
    "LevelOption",
    "MuOption",
    "OptionalDataOption",
    "PolicyOption",
    "RhoOption",
    "SaveOption",
    "SqlArgument",
    "check_level",
]

_SPEND = "Spend: exactly one currency"
_DATA = (
    "The source of a table: Parquet, CSV or a DuckDB file, postgresql://USER@HOST/DATABASE, or spark://HOST:PORT. Once "
    "for each table of the policy; NAME= may be left out if the policy has one table, or the source holds them all."
)


class Format(StrEnum):
    """How to print an answer."""

    table = "table"
    csv = "csv"
    json = "json"


SqlArgument = Annotated[
    str, typer.Argument(metavar="SQL", show_default=False, help="One SELECT over one table; see docs/sql.md.")
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
        help="The file, or postgresql:// URL, that keeps the budget; made, with the policy's budget, if there is none.",
    ),
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
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        show_default=False,
        help="Also write the whole release with its certificate to a new file, for `discreet verify`.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the answer; see docs/cli.md.")]


def check_level(level: float) -> float:
    """The level, before anything is spent; raises `ParameterError` outside (0, 1)."""
    if not 0 < level < 1:
        raise ParameterError(f"--level must lie strictly between 0 and 1, for example 0.95; got {level}")
    return level
