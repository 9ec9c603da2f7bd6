"""`discreet shell`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._errors import Termination, show_error
from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    Format,
    FormatOption,
    LedgerOption,
    LevelOption,
    MuOption,
    PolicyOption,
    RhoOption,
    RowsOption,
    check_level,
    source_of,
    spend_of,
)
from discreet.cli.ledger._options import AccountOption, KeyFileOption, TokenFileOption
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.cli.shell._commands import Statements

__all__ = ["EXAMPLES", "shell"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet shell --data visits=visits.parquet --policy visits.toml --ledger visits.ledger --epsilon 0.1\n\n"
    "  discreet shell --data visits.csv --policy visits.toml --ledger visits.ledger --rho 0.01 < questions.sql\n\n"
    "Within: SQL ended by `;`, and commands such as \\plan, \\spend and \\budget; \\help lists them."
)


def shell(  # noqa: PLR0913 — an option each
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    assume_rows: RowsOption = None,
    form: FormatOption = Format.table,
    level: LevelOption = 0.95,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Neither read nor write the file that remembers statements.")
    ] = False,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    r"""Ask one question after another, at a prompt or from standard input; each is charged as by `discreet query`.

    The spend is what each query costs, until \spend sets another. At a prompt it needs discreet[shell].
    """
    from discreet.cli._pandas import spare_pandas
    from discreet.cli.ledger._open import access
    from discreet.cli.shell._commands import COMMANDS, Statements
    from discreet.cli.shell._prompt import check_installed, prompt
    from discreet.cli.shell._statements import piped
    from discreet.connection import connect
    from discreet.policy import load_policy

    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))  # pyright: ignore[reportUnnecessaryComparison]
    if at_terminal:
        check_installed()
    spare_pandas(data)
    spend = spend_of(epsilon, rho, mu, delta)
    check_level(level)
    facts = load_policy(policy)
    with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
        statements = Statements(session, facts, spend, form, level, assume_rows)
        if at_terminal:
            typer.echo("SQL ends with `;`. \\help lists what else there is, \\quit ends.")
            _converse(statements, prompt(facts, COMMANDS, statements.status, history=not no_history))
            return
        code = _run_all(statements, piped())
    if code:
        raise typer.Exit(code)


def _converse(statements: Statements, ask: Callable[[], str]) -> None:
    from discreet.cli.shell._statements import is_command, split

    while True:
        try:
            text = ask()
        except Termination:
            raise
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        for statement in [text] if is_command(text) else split(text)[0]:
            ends, code = _run(statements, statement)
            if ends:
                return
            if code:
                break


def _run_all(statements: Statements, texts: Iterable[str]) -> int:
    """Run every statement, whatever becomes of those before; returns the exit code of the first that failed, or 0."""
    first = 0
    for text in texts:
        ends, code = _run(statements, text)
        first = first or code
        if ends:
            break
    return first


def _run(statements: Statements, text: str) -> tuple[bool, int]:
    """Whether a statement ends the shell, and the exit code of its error, which is printed."""
    try:
        return not statements.run(text), 0
    except Termination:
        raise
    except (DiscreetError, KeyboardInterrupt) as error:
        return False, show_error(error)
    finally:
        sys.stdout.flush()
