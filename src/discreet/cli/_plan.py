"""`discreet plan`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli._errors import in_options
from discreet.cli._options import (
    CapOption,
    DeltaOption,
    DialectOption,
    EpsilonOption,
    FileOption,
    Format,
    FormatOption,
    LevelOption,
    MuOption,
    OptionalDataOption,
    PolicyOption,
    RhoOption,
    RowsOption,
    SqlArgument,
    check_level,
    sql_of,
)
from discreet.cli.ledger._open import exists, named, spending, token_from
from discreet.cli.ledger._options import AccountOption, KeyFileOption, TokenFileOption
from discreet.elapsed import elapsed

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.query import Plan, ReadPublic

__all__ = ["EXAMPLES", "explained", "outlook", "plan"]


EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet plan "SELECT AVG(cost) AS c FROM visits" --policy visits.toml\n\n'
    '  discreet plan "SELECT AVG(cost) AS c FROM visits" --policy visits.toml --epsilon 0.5 --assume-rows 20000'
)


def plan(  # noqa: PLR0913 — an option each
    sql: SqlArgument = None,
    *,
    policy: PolicyOption,
    file: FileOption = None,
    dialect: DialectOption = "duckdb",
    data: OptionalDataOption = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            "-l",
            metavar="LEDGER",
            show_default=False,
            help="Also say whether the query still fits. Nothing is written, and no ledger is made.",
        ),
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    assume_rows: RowsOption = None,
    assume_cap: CapOption = None,
    form: FormatOption = Format.table,
    level: LevelOption = 0.95,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Check a query and show its bounds, sensitivity, noise and errors. Spends nothing, reads no private rows."""
    with elapsed():
        from discreet.cli._options import source_of, spend_of
        from discreet.cli._pandas import spare_pandas
        from discreet.combined import plan_statement, plan_under
        from discreet.policy import load_policy
        from discreet.query import in_dialect

        spare_pandas(data or ())
        spend = spend_of(epsilon, rho, mu, delta)
        check_level(level)
        sql = sql_of(sql, file)
        facts = load_policy(policy)
        with _source(source_of(data) if data else None, facts) as read:
            given = {"rows": assume_rows, "max_rows": assume_cap}
            checked = plan_under(
                plan_statement(in_dialect(sql, dialect, facts), facts, spend, read),
                {name: n for name, n in given.items() if n is not None},
            )
        standing = None if ledger is None else outlook(checked, facts, ledger, account, token_file, key_file)
        if form is Format.table:
            from discreet.cli._output import print_table

            print_table(checked.table(level).rich_table())
            typer.echo(explained(checked, level))
            if standing is not None:
                typer.echo(standing)
        else:
            _print_errors(checked, form, level)


def explained(checked: Plan, level: float) -> str:
    """What a plan says of itself, in the words of the command line; the query stays as it is."""
    query, newline, rest = checked.explain(level).partition("\n")
    return f"{query}{newline}{in_options(rest)}"


@contextmanager
def _source(source: object | None, policy: Policy) -> Generator[ReadPublic | None]:
    """What reads groups of public tables in a source, which is checked; None without one."""
    from discreet.engines import open_engine
    from discreet.query import public_reader

    if source is None:
        yield None
        return
    engine = open_engine(source, policy)
    try:
        yield public_reader(engine)
    finally:
        engine.close()


def _print_errors(checked: Plan, form: Format, level: float) -> None:
    from discreet.cli._output import print_json
    from discreet.privacy import to_json
    from discreet.query import plain_value

    priced = checked.loss is not None
    errors: dict[str, Any] = {
        name: plain_value(checked.error(name, level)) if priced else None for name in checked.noisy
    }
    if form is Format.json:
        print_json({"errors": errors, "loss": None if checked.loss is None else to_json(checked.loss)})
        return
    import csv
    import sys

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["column", "error"])
    writer.writerows(errors.items())


def outlook(  # noqa: PLR0913, PLR0917
    checked: Plan, policy: Policy, ledger: str, account: str | None, token_file: Path | None, key_file: Path | None
) -> str:
    """One line: what is left, and whether the plan is stored, or fits. Makes no ledger."""
    from discreet.ledger import check_policy_match
    from discreet.privacy import in_words

    token_from(account, token_file)
    if not exists(ledger):
        return f"Ledger: there is none at {ledger} yet; the first query makes it with the policy's budget."
    with spending(ledger, key_file, account, token_file) as book:
        check_policy_match(book, policy)
        state = book.state()
        left = f"Ledger: {in_words(state.remaining)} is left"
        if checked.loss is None:
            return f"{left}."
        if book.find(checked.hash(policy)) is not None:
            return f"{left}; the answer is stored, so asking is free."
        why = state.stopped(book.moments(1)[-1][0])
    if why is not None:
        return f"{left}, and {'the account' if account else named(ledger)} {why}."
    if not checked.loss.fits(state.remaining):
        return f"{left}; this does not fit."
    shared = " the account; the budget that all accounts share may have less left" if account else ""
    return f"{left}; this fits{shared}."
