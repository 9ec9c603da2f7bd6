"""`discreet synth fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)
from discreet.cli.synth._options import (
    CellsOption,
    ColumnsOption,
    RuleOption,
    RulesOption,
    TablesArgument,
    TargetOption,
    TierOption,
    Tiers,
    WorkloadOption,
)
from discreet.cli.synth._tables import (
    AlongOption,
    ConstantOption,
    LinkOption,
    OrderOption,
    PeopleOption,
    Related,
    UniqueOption,
    fit_question,
    plan_of,
)
from discreet.elapsed import elapsed

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.synth import SyntheticTable, SyntheticTables

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth fit visits --data visits.parquet --policy visits.toml --ledger visits.ledger --rho 0.01 "
    "-o visits.synth\n\n"
    "  discreet synth fit visits --data visits.parquet --policy visits.toml --ledger visits.ledger --epsilon 1 "
    '--target cost --workload "region,cost" --cells "age=16" -o visits.synth\n\n'
    "  discreet synth fit visits --unique-order year --constant female --data visits.parquet --policy visits.toml "
    "--ledger visits.ledger --epsilon 1 -o people.synth\n\n"
    "  discreet synth sample visits.synth -n 50000 -o rows.parquet\n\n"
    "The same fit at the same price is free the second time: the ledger gives the same table again."
)


def fit(  # noqa: PLR0913 — an option each
    tables: TablesArgument,
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
            metavar="FILE",
            show_default=False,
            help="The new file that the synthetic table is written to, with its certificate, for `discreet verify`.",
        ),
    ],
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    mu: MuOption = None,
    delta: DeltaOption = None,
    tier: TierOption = Tiers.best,
    columns: ColumnsOption = None,
    cells: CellsOption = None,
    target: TargetOption = None,
    workload: WorkloadOption = None,
    rule: RuleOption = None,
    rules: RulesOption = None,
    people: PeopleOption = False,
    order: OrderOption = None,
    unique_order: UniqueOption = None,
    constant: ConstantOption = None,
    along: AlongOption = None,
    link: LinkOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Fit a synthetic table, or several, with differential privacy, and charge the ledger once. Rows are free.

    The charge is on disk before anything is counted. A long fit shows elapsed time and public steps on stderr.
    """
    with elapsed():
        from discreet.cli._options import source_of, spend_of
        from discreet.cli._pandas import spare_pandas
        from discreet.cli.ledger._open import access
        from discreet.connection import connect
        from discreet.policy import load_policy
        from discreet.release import check_new_file

        spare_pandas(data)
        related = Related(people, order, unique_order, constant, along, link)
        question = fit_question(
            tables, related, spend_of(epsilon, rho, mu, delta), tier, columns, cells, target, workload, rule, rules
        )
        check_new_file(save)
        facts = load_policy(policy)
        plan_of(question, facts)  # refusals come before a ledger is made
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            fitted = session.answer(question, idempotency_key=idempotency_key)
            remaining = session.remaining
        fitted.save(save)
    _print(fitted, remaining, save, form)


def _print(fitted: SyntheticTable | SyntheticTables, remaining: Loss, path: Path, form: Shape) -> None:
    from discreet.cli._output import print_json, print_table
    from discreet.cli.synth._models import report_of
    from discreet.errors import printable
    from discreet.privacy import in_words, to_json
    from discreet.synth import SyntheticTable

    if form is Shape.json:
        report = report_of(fitted)
        print_json(
            {"file": str(path), **report, "remaining": to_json(remaining), "certificate": dict(fitted.certificate)}
        )
        return
    how = "-n N -o rows.parquet` draws rows" if isinstance(fitted, SyntheticTable) else "-o rows` draws people"
    print_table(fitted.rich_table())
    typer.echo(printable(fitted.note()))
    typer.echo(printable(f"in {path}: `discreet synth sample {path} {how}, for nothing"))
    typer.echo(f"cost {in_words(fitted.loss)}; left {in_words(remaining)}")
