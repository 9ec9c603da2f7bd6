"""`discreet attack singling-out`, `linkability`, `inference` and `closeness`: attacks on synthetic tables."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli._table_files import table_in
from discreet.cli.attack._options import (
    AcceptOption,
    ControlArgument,
    EvidenceOption,
    OriginalArgument,
    SyntheticArgument,
    TargetsOption,
)
from discreet.cli.attack._tables import check_evidence, named_columns, show_outcome, show_scores
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.elapsed import elapsed

__all__ = ["EXAMPLES", "closeness", "inference", "linkability", "singling_out"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet attack singling-out synthetic.csv fitted.csv others.csv --columns 4\n\n"
    "  discreet attack linkability synthetic.csv fitted.csv others.csv --first age,sex --second job,income\n\n"
    "  discreet attack inference synthetic.csv fitted.csv others.csv --secret income --accept 0.05\n\n"
    "  discreet attack closeness synthetic.csv fitted.csv others.csv\n\n"
    "[bold]Exit codes[/bold]\n\n"
    "  0 it ran, and the advantage is accepted if a limit was given; 1 it may be larger; 2 bad usage; 4 bad files"
)


def singling_out(  # noqa: PLR0913 — an option each
    synthetic: SyntheticArgument,
    original: OriginalArgument,
    control: ControlArgument,
    *,
    columns: Annotated[
        int, typer.Option("--columns", metavar="N", min=1, help="How many columns a predicate has.")
    ] = 1,
    guesses: Annotated[int, typer.Option("--guesses", metavar="N", min=1, help="How many predicates at most.")] = 500,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess predicates that exactly one of the people satisfies."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        tables = (table_in(each) for each in (synthetic, original, control))
        outcome = attack.singling_out(*tables, columns=columns, guesses=guesses)
    show_outcome(outcome, form, accept, evidence)


def linkability(  # noqa: PLR0913 — an option each
    synthetic: SyntheticArgument,
    original: OriginalArgument,
    control: ControlArgument,
    *,
    first: Annotated[str, typer.Option("--first", metavar="A,B", show_default=False, help="Columns of one part.")],
    second: Annotated[str, typer.Option("--second", metavar="C,D", show_default=False, help="Those of the other.")],
    neighbours: Annotated[
        int, typer.Option("--neighbours", metavar="N", min=1, help="Among how many nearest rows a link counts.")
    ] = 1,
    targets: TargetsOption = 2000,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Link two parts of somebody's row by the synthetic row that is nearest in both."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        tables = (table_in(each) for each in (synthetic, original, control))
        outcome = attack.linkability(
            *tables,
            first=named_columns(first, "--first"),
            second=named_columns(second, "--second"),
            neighbours=neighbours,
            targets=targets,
        )
    show_outcome(outcome, form, accept, evidence)


def inference(  # noqa: PLR0913 — an option each
    synthetic: SyntheticArgument,
    original: OriginalArgument,
    control: ControlArgument,
    *,
    secret: Annotated[
        str, typer.Option("--secret", metavar="COLUMN", show_default=False, help="The column that is guessed.")
    ],
    known: Annotated[
        str | None,
        typer.Option("--known", metavar="A,B", show_default=False, help="Those that are known. Default: all others."),
    ] = None,
    targets: TargetsOption = 2000,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess somebody's value of one column by the synthetic row nearest in the others."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        tables = (table_in(each) for each in (synthetic, original, control))
        outcome = attack.inference(
            *tables, secret=secret, known=named_columns(known, "--known") or None, targets=targets
        )
    show_outcome(outcome, form, accept, evidence)


def closeness(  # noqa: PLR0913 — an option each
    synthetic: SyntheticArgument,
    original: OriginalArgument,
    control: ControlArgument,
    *,
    targets: TargetsOption = 2000,
    accept: AcceptOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess that those are behind the table who are near to a synthetic row: weak evidence, shown as it is."""
    with elapsed():
        from discreet import attack

        tables = (table_in(each) for each in (synthetic, original, control))
        outcome = attack.closeness(*tables, targets=targets)
    show_scores(outcome, form, accept)
