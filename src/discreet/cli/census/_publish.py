"""`discreet census publish`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._options import (
    DataOption,
    DeltaOption,
    EpsilonOption,
    LedgerOption,
    MuOption,
    PolicyOption,
    RhoOption,
)
from discreet.cli.census._options import SpecArgument, question_of
from discreet.cli.ledger._options import AccountOption, IdempotencyOption, KeyFileOption, TokenFileOption
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "publish"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet census publish country.toml --data people.parquet --policy people.toml --ledger people.ledger "
    "--rho 2.56 -o country/\n\n"
    "  discreet census area country/ b17 b18 --where 'age < 18'\n\n"
    "  discreet verify country/publication.json --ledger people.ledger\n\n"
    "The same specification at the same price is free the second time: the ledger gives the same tables again."
)


def publish(  # noqa: PLR0913 — an option each
    spec: SpecArgument,
    *,
    data: DataOption,
    policy: PolicyOption,
    ledger: LedgerOption,
    save: Annotated[
        Path,
        typer.Option(
            "--save",
            "--output",
            "-o",
            metavar="FOLDER",
            show_default=False,
            help="The new folder for the tables, the noisy counts, a code book, and the publication itself.",
        ),
    ],
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Publish tables with differential privacy, and charge the ledger once. Totals and districts are free.

    The charge is on disk before anything is counted. A long run shows elapsed time and public steps on stderr.
    """
    with elapsed():
        from discreet.census import plan_question
        from discreet.cli._options import source_of
        from discreet.cli._output import print_table
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.errors import printable
        from discreet.policy import load_policy
        from discreet.privacy import in_words

        spare_pandas(data)
        question = question_of(spec, epsilon, rho, mu, delta)
        if save.exists():
            raise ParameterError(f"{save} is there already; name a new folder")
        facts = load_policy(policy)
        plan_question(question, facts)  # refusals come before a ledger is made
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            published = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        published.save(f"{save}/")
    print_table(published.report().rich_table())
    typer.echo(printable(f"{published.note()}; cost {in_words(published.loss)}, {in_words(remaining)} left; in {save}"))
