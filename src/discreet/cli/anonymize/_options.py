"""What both commands take: the file of a table, and names of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["QuasiOption", "SensitiveOption", "TableArgument"]

TableArgument = Annotated[
    Path,
    typer.Argument(metavar="TABLE", show_default=False, help="A .parquet or .csv file with a row for each person."),
]
QuasiOption = Annotated[
    str,
    typer.Option(
        "--quasi",
        metavar="A,B,C",
        show_default=False,
        help="The columns by which a person may be recognised: what a neighbour or a register knows.",
    ),
]
SensitiveOption = Annotated[
    str | None,
    typer.Option("--sensitive", metavar="A,B", show_default=False, help="Columns that nobody is to learn of a person."),
]
