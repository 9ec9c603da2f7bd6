"""Tables and columns that a command names, and what it prints and writes of its attack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli._options import listed_names
from discreet.cli.ledger._options import Shape
from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.anonymize import Hierarchy
    from discreet.attack import MembershipOutcome, Outcome

__all__ = [
    "check_evidence",
    "named_columns",
    "read_hierarchies",
    "read_rows",
    "scales_of",
    "show_outcome",
    "show_scores",
]

_SUFFIXES = (".csv", ".parquet")


def named_columns(text: str | None, option: str) -> list[str]:
    """The columns that an option lists; none if it is left out. Raises `ParameterError` for an empty name."""
    return listed_names(text, option) or []


def scales_of(options: Sequence[str]) -> dict[str, float]:
    """For each column the difference at which an event counts 1/e. Raises `ParameterError` for what is none.

    >>> scales_of(["rating=1.5"])
    {'rating': 1.5}
    """
    scales: dict[str, float] = {}
    for option in options:
        name, _, text = (part.strip() for part in option.rpartition("="))
        try:
            scale = float(text)
        except ValueError:
            scale = 0.0
        if not name or not 0 < scale < float("inf"):
            raise ParameterError(f"--scale takes a column and a positive number, as in rating=1.5; got {option!r}")
        if name in scales:
            raise ParameterError(f"--scale names the column {name} twice")
        scales[name] = scale
    return scales


def read_rows(table: pa.Table, column: str | None) -> NDArray | None:
    """The row of the other table for each of this one. Raises `ParameterError` for a column that says none."""
    import pyarrow as pa

    if column is None:
        return None
    if column not in table.column_names:
        raise ParameterError(f"--row: the second table has no column {column}; it has {', '.join(table.column_names)}")
    rows = table.column(column)
    if not pa.types.is_integer(rows.type) or rows.null_count:
        raise ParameterError(f"--row: {column} has a whole number in each row, -1 where there is nobody")
    return rows.to_numpy()


def read_hierarchies(path: Path | None, table: pa.Table, quasi: Sequence[str]) -> dict[str, Hierarchy] | None:
    """The hierarchies of a file, for the values of the original. Raises `ParameterError` for columns it has not."""
    if path is None:
        return None
    from discreet.anonymize import load_hierarchies, read_columns, read_frame

    columns = read_columns(read_frame(table), quasi, "--quasi")
    return load_hierarchies(path, {each.name: each for each in columns})


def check_evidence(path: Path | None) -> None:
    """Raise `ParameterError` where evidence cannot be written, before it is there."""
    if path is None:
        return
    from discreet.release import check_new_file

    if path.suffix.casefold() not in _SUFFIXES:
        raise ParameterError(f"--evidence {path}: name a file that ends in {' or '.join(_SUFFIXES)}")
    check_new_file(path)


def _write(evidence: pa.Table, path: Path) -> None:
    """Write the evidence by the suffix of the file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from discreet.release import write_file

    sink = pa.BufferOutputStream()
    if path.suffix.casefold() == ".parquet":
        pyarrow.parquet.write_table(evidence, sink)
    else:
        pyarrow.csv.write_csv(evidence, sink)
    write_file(sink.getvalue().to_pybytes(), path)


def show_outcome(outcome: Outcome, form: Shape, accept: float | None, evidence: Path | None) -> None:
    """Print an outcome and write its evidence; exits with 1 if the advantage may be more than is accepted."""
    if evidence is not None:
        _write(outcome.evidence, evidence)
    _show(outcome, form)
    if accept is not None and outcome.advantage_interval()[1] > accept:
        _refuse(form, f"the advantage may be more than {accept:g}")


def show_scores(outcome: MembershipOutcome, form: Shape, accept: float | None) -> None:
    """Print how well scores tell members from others; exits with 1 if the AUC may be further above .5."""
    _show(outcome, form)
    if accept is not None and outcome.auc_interval()[1] - 0.5 > accept:
        _refuse(form, f"the AUC may be more than {accept:g} above .5")


def _show(outcome: Outcome | MembershipOutcome, form: Shape) -> None:
    if form is Shape.json:
        from discreet.cli._output import print_json

        print_json(outcome.to_json())
    else:
        for line in outcome.explain().splitlines():
            typer.echo(printable(line))


def _refuse(form: Shape, reason: str) -> None:
    if form is not Shape.json:
        typer.echo(reason)
    raise typer.Exit(1)
