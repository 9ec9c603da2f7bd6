"""`discreet risk`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._options import listed_names
from discreet.cli._table_files import table_in
from discreet.cli.anonymize._options import QuasiOption, SensitiveOption, TableArgument
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.elapsed import elapsed
from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from discreet.anonymize import Fact, Risk

__all__ = ["EXAMPLES", "risk"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet risk patients.csv --quasi age,sex,town\n\n"
    "  discreet risk coarse.csv --quasi age,sex,town --sensitive illness --population 80000\n\n"
    "  discreet risk coarse.csv --quasi age,sex,town --sensitive illness --facts known.toml --people who.csv\n\n"
    "[bold]Facts[/bold] that somebody knows, in TOML\n\n"
    "  \\[\\[facts]]\n\n"
    '  column = "illness"\n\n'
    '  excluded = \\["flu"]\n\n'
    '  where = { town = "Bern" }'
)


def risk(  # noqa: PLR0913 - an option each
    table: TableArgument,
    *,
    quasi: QuasiOption,
    sensitive: SensitiveOption = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="FILE|N",
            show_default=False,
            help="A table of all people among whom somebody might look, or how many they are: then it is estimated.",
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            "--facts", metavar="FILE", show_default=False, help="A TOML file of values that some people do not have."
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="FILE",
            show_default=False,
            help="Also write each person's risk to a new file: .parquet, .csv, .duckdb.",
        ),
    ] = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Say who may be recognised in a table, by which columns, and what is learnt of them then.

    It reads private rows, and what it prints is about them: it is for their owner, and no release.
    """
    with elapsed():
        from discreet import anonymize
        from discreet.synth import check_rows_file, write_rows

        if people is not None:
            check_rows_file(people)
        result = anonymize.risk(
            table_in(table),
            listed_names(quasi, "--quasi") or [],
            None if population is None else _population(population),
            listed_names(sensitive, "--sensitive") or [],
            () if facts is None else _facts(facts),
        )
        if people is not None:
            write_rows(result.to_arrow("people"), people)
    _print(result, form)


def _population(text: str) -> Any:
    digits = text.replace("_", "")
    if digits.isdecimal() and digits.isascii():
        return int(digits)
    return table_in(Path(text))


def _facts(path: Path) -> Sequence[Fact]:
    import tomllib

    from discreet.anonymize import Fact

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} is no TOML: {error}") from None
    listed: list[Fact] = []
    entries: Any = content.get("facts")
    for entry in entries if isinstance(entries, list) else [None]:  # pyright: ignore[reportUnknownVariableType]
        match entry:
            case {"column": str() as column, "excluded": list() as excluded, **rest} if set(rest) <= {"where"}:  # pyright: ignore[reportUnknownVariableType]
                where: Any = rest.get("where", {})  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                if isinstance(where, dict):
                    listed.append(Fact(column, excluded, where))  # pyright: ignore[reportUnknownArgumentType]
                    continue
            case _:
                pass
        raise ParameterError(
            f"{path}: each [[facts]] has a column, a list of excluded values, and, if not everybody is meant, where"
        )
    return listed


def _print(result: Risk, form: Shape) -> None:
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable

    if form is Shape.json:
        print_json(result.to_json())
        return
    for line in result.explain().splitlines():
        typer.echo(printable(line))
    print_table(result.rich_table("columns"))
    if result.sets:
        print_table(result.rich_table("sets"))
    if result.disclosures:
        print_table(result.rich_table("sensitive"))
