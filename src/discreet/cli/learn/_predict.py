"""`discreet predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import Format, FormatOption
from discreet.cli._table_files import table_in
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.learn import Model

__all__ = ["EXAMPLES", "predict"]

_FIRST = 50

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet predict dear.model --data others.csv\n\n"
    "  discreet predict dear.model --data others.parquet --probabilities -o predicted.parquet"
)


def predict(
    file: Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A file by `discreet train`.")],
    *,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            "-d",
            metavar="FILE",
            show_default=False,
            help="The rows to predict, CSV or Parquet, with the columns that the model reads by name.",
        ),
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Of a classifier the probability of each class too.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="A new .csv or .parquet file. Default: on stdout, by --format.",
        ),
    ] = None,
    form: FormatOption = Format.csv,
) -> None:
    """Predict by a model for rows of your own. Spends nothing, needs no ledger, and no private data.

    The file is not verified: `discreet verify` says whether it is genuine. What is predicted of a row tells about that
    row, to whoever sees it.
    """
    with elapsed():
        from discreet import learn

        model = learn.load(file)
        answers = _answers(model, _rows(data, model), probabilities)
        if output is not None:
            _write(answers, output)
            return
    _print(answers, form)


def _rows(path: Path, model: Model) -> pa.Table:
    import pyarrow as pa

    texts = {each.name: pa.string() for each in model.inputs.features}
    rows = table_in(path, texts)
    is_text = path.suffix.casefold() == ".csv"
    return _typed(rows, model) if is_text and all(rows.column_names.count(name) == 1 for name in texts) else rows


def _typed(rows: pa.Table, model: Model) -> pa.Table:
    """The texts of a CSV file as training reads them, by the casts of DuckDB: what is no value of its type is null."""
    import duckdb

    types = {"int": "BIGINT", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "string": "VARCHAR"}
    features = model.inputs.features
    texts = rows.select([each.name for each in features]).rename_columns([f"c{i}" for i in range(len(features))])
    kinds = ["DOUBLE" if each.is_number else types.get(each.type, "DOUBLE") for each in features]
    casts = ", ".join(f"TRY_CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(kinds))
    with duckdb.connect() as connection:
        typed = connection.from_arrow(texts).project(casts).to_arrow_table()
    return typed.rename_columns([each.name for each in features])


def _answers(model: Model, rows: pa.Table, probabilities: bool) -> pa.Table:  # noqa: FBT001 - as the option is
    import pyarrow as pa

    from discreet.learn.preparing import Preparation

    outputs = model.outputs(rows)
    target = "cluster" if model.inputs.target is None else model.inputs.target.name
    columns: dict[str, Any] = {}
    if model.algorithm.task == "transformation":
        named = [f"component_{i}" for i in range(outputs.shape[1])]
        if isinstance(model.algorithm, Preparation):
            named = [each.name for each in model.algorithm.prepared(model.inputs).features]
        columns = dict(zip(named, outputs.T, strict=True))
    else:
        columns = {target: pa.array(model.predict(rows).tolist())}
    if probabilities:
        if model.algorithm.task != "classification":
            raise ParameterError(f"--probabilities: {model.algorithm.name} has no classes")
        columns |= {f"{target}={each}": outputs[:, i] for i, each in enumerate(model.inputs.classes)}
    return pa.table(columns)


def _write(answers: pa.Table, output: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from discreet.release import write_file

    sink = pa.BufferOutputStream()
    match output.suffix.casefold():
        case ".parquet":
            pyarrow.parquet.write_table(answers, sink)
        case ".csv":
            pyarrow.csv.write_csv(answers, sink)
        case _:
            raise ParameterError(f"--output {output}: name a file that ends in .csv or .parquet")
    write_file(sink.getvalue().to_pybytes(), output)


def _print(answers: pa.Table, form: Format) -> None:
    import io

    import pyarrow.csv

    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable

    match form:
        case Format.json:
            print_json({"predictions": answers.to_pylist()})
        case Format.csv:
            sink = io.BytesIO()
            pyarrow.csv.write_csv(answers, sink)
            typer.echo(sink.getvalue().decode(), nl=False)
        case Format.table:
            from rich import box
            from rich.table import Table
            from rich.text import Text

            table = Table(box=box.SIMPLE_HEAD)
            for name in answers.column_names:
                table.add_column(Text(printable(name)))
            for row in answers.slice(0, _FIRST).to_pylist():
                table.add_row(*(Text(printable(str(each))) for each in row.values()))
            print_table(table)
            cut = f"first {_FIRST} of " if answers.num_rows > _FIRST else ""
            typer.echo(f"{cut}{answers.num_rows:,} rows")
