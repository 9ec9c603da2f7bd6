"""`discreet query`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._answer_files import AnswerFiles
from discreet.cli._asking import Place, Question, Remote
from discreet.cli._options import (
    DeltaOption,
    DialectOption,
    EpsilonOption,
    FileOption,
    Format,
    FormatOption,
    LevelOption,
    MuOption,
    OptionalLedgerOption,
    OptionalPolicyOption,
    OptionalSourceOption,
    RhoOption,
    SaveOption,
    SqlArgument,
    check_level,
    sql_of,
)
from discreet.cli.ledger._options import AccountOption, IdempotencyOption, KeyFileOption, TokenFileOption
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "query"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet query "SELECT region, COUNT(*) AS n FROM visits GROUP BY region" --data visits=visits.parquet '
    "--policy visits.toml --ledger visits.ledger --epsilon 0.5\n\n"
    '  discreet query "SELECT AVG(cost) AS c FROM visits" --data visits.csv --policy visits.toml '
    "--ledger visits.ledger --rho 0.01 --format json\n\n"
    '  discreet query "SELECT COUNT(*) AS n FROM visits" --data visits.parquet --policy visits.toml '
    "--ledger visits.ledger --account ada --token-file ada.token --epsilon 0.1\n\n"
    '  discreet query "SELECT day, COUNT(*) AS n FROM visits GROUP BY day" --data visits.parquet --policy visits.toml '
    "--ledger visits.ledger --epsilon 0.1 --delta 1e-6 --output days.csv --plot days.svg\n\n"
    "  discreet query --file question.sql --data visits.csv --policy visits.toml --ledger visits.ledger --epsilon 0.5"
    "\n\n"
    '  discreet query "SELECT COUNT(*) AS n FROM visits" --server https://desk.example --account ada --token-file '
    "ada.token --epsilon 0.1\n\n"
    "The same query at the same price is free the second time: the ledger gives the same answer again."
)


def query(  # noqa: PLR0913 — an option each
    sql: SqlArgument = None,
    *,
    data: OptionalSourceOption = None,
    policy: OptionalPolicyOption = None,
    ledger: OptionalLedgerOption = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            help="Ask a server by `discreet serve` instead, as https://desk.example; needs 'discreet\\[client]'.",
        ),
    ] = None,
    server_key: Annotated[
        str | None,
        typer.Option(metavar="HEX", show_default=False, help="The public key that the server's answers are signed by."),
    ] = None,
    file: FileOption = None,
    dialect: DialectOption = "duckdb",
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    form: FormatOption = Format.table,
    level: LevelOption = 0.95,
    save: SaveOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Also write all rows to a new file: .parquet or .csv with intervals NAME_low, NAME_high; or .json.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Also draw the answer with its intervals: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
    bias: Annotated[
        bool, typer.Option("--bias", help="Give a tenth of the spend to estimates of what bounds and caps did.")
    ] = False,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Answer a SELECT with differential privacy and charge the ledger.

    The charge is on disk before any noise is drawn, and the answer is on disk before it is printed.
    """
    with elapsed():
        from discreet.cli._options import spend_of
        from discreet.cli._output import print_release

        spend = spend_of(epsilon, rho, mu, delta)
        if spend is None:
            raise ParameterError("say what the answer may cost: --epsilon E, or --rho R, and --delta D beside them")
        check_level(level)
        sql = sql_of(sql, file)
        if bias and form is Format.csv:
            raise ParameterError("csv has no room for the estimates of --bias; ask for --format json or table")
        if bias and output is not None and output.suffix.lower() != ".json":
            raise ParameterError(
                "only .json has room for the estimates of --bias; name another --output, or leave it out"
            )
        files = AnswerFiles(save, output, plot)
        files.check()
        question = Question(sql, dialect, spend, bias, idempotency_key)
        if server is not None:
            if data or policy or ledger or key_file:
                raise ParameterError("--server has the data, the policy and the ledger: leave the options of these out")
            remote = Remote(server, server_key, account, token_file)
            release, remaining = remote.ask(question)
        else:
            if not data or policy is None or ledger is None:
                raise ParameterError("name --data, --policy and --ledger, or a --server that has them")
            place = Place(tuple(data), policy, ledger, account, token_file, key_file)
            release, remaining = place.ask(question, files.check_plan)
        files.write(release, remaining, level)
    print_release(release, remaining, form, level, output)
