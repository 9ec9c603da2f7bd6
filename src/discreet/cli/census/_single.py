"""What the commands on one histogram and on marginals share: a plan without data, a publication to a file with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ledger._options import Shape
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.census import CountCells, HistogramPlan, MarginalsPlan, PublishMarginals
    from discreet.policy import Policy

__all__ = ["NO_SPEND", "LedgerOption", "SavedOption", "SourceOption", "Wanted", "published"]

NO_SPEND = "say what it may cost: --epsilon E, or --rho R, and --delta D beside them"
_TOGETHER = "--data, --ledger and -o belong together: give all three to publish, or none of them for a plan"

SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        "-d",
        metavar="[NAME=]SOURCE",
        show_default=False,
        help="Publish it from this source, as for `discreet query`. Default: show a plan.",
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-l",
        metavar="LEDGER",
        show_default=False,
        help="The file, or postgresql:// URL, that keeps the budget; made, with the policy's, if there is none.",
    ),
]
SavedOption = Annotated[
    Path | None,
    typer.Option(
        "--save", "--output", "-o", metavar="FILE", show_default=False, help="The new file for what is published."
    ),
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where from, whence the budget, and where to; how the ledger is opened: idempotency key, account, its files."""

    data: list[str] | None
    ledger: str | None
    save: Path | None
    opened: tuple[str | None, str | None, Path | None, Path | None]


def published(  # noqa: PLR0913
    question: CountCells | PublishMarginals,
    planned: HistogramPlan | MarginalsPlan,
    facts: Policy,
    wanted: Wanted,
    *,
    explain: bool,
    plot: Path | None,
    form: Shape,
) -> None:
    """Print a plan, or publish to a file and say what it cost. Raises `ParameterError` for half of what that takes."""
    from discreet.cli._output import print_json, print_table
    from discreet.errors import printable
    from discreet.explain import check_path

    if plot is not None:
        check_path(plot)
    shown: Any = planned
    data, ledger, save = wanted.data, wanted.ledger, wanted.save
    if data is None and ledger is None and save is None:
        cost = ""
    elif data is None or ledger is None or save is None:
        raise ParameterError(_TOGETHER)
    else:
        if save.exists():
            raise ParameterError(f"{save} is there already; name a new file")
        shown, cost = _charged(question, facts, data, ledger, wanted.opened)
        shown.save(save)
        cost += f"; in {save}"
    if plot is not None:
        from discreet.explain import save as draw

        draw(shown.plot(), plot)
    if form is Shape.json:
        print_json(shown.to_dict())
    elif explain and shown is planned:
        typer.echo(planned.explain())
    else:
        print_table(shown.rich_table(first=50))
        typer.echo(printable(shown.note() + cost))


def _charged(
    question: CountCells | PublishMarginals,
    facts: Policy,
    data: list[str],
    ledger: str,
    opened: tuple[str | None, str | None, Path | None, Path | None],
) -> tuple[Any, str]:
    from discreet.cli._options import source_of
    from discreet.cli._pandas import spare_pandas
    from discreet.cli.ledger._open import access
    from discreet.connection import connect
    from discreet.elapsed import elapsed
    from discreet.privacy import in_words

    key, account, token_file, key_file = opened
    with elapsed():
        spare_pandas(data)
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            release: Any = session.answer(question, idempotency_key=key)
            remaining = session.remaining
    return release, f"; cost {in_words(release.loss)}, {in_words(remaining)} left"
