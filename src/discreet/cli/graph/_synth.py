"""`discreet graph synth`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import DataOption, DeltaOption, EpsilonOption, LedgerOption, PolicyOption, RhoOption
from discreet.cli.graph._options import GraphArgument, SavedOption, answered, needed_spend
from discreet.cli.ledger._options import (
    AccountOption,
    IdempotencyOption,
    KeyFileOption,
    Shape,
    ShapeOption,
    TokenFileOption,
)

if TYPE_CHECKING:
    from discreet.graphs import GraphSynthesis

__all__ = ["SYNTH_EXAMPLES", "synth"]

SYNTH_EXAMPLES = (
    "[bold]Example[/bold]\n\n"
    "  discreet graph synth friends --data friends.parquet --policy friends.toml --ledger friends.ledger "
    "--epsilon 1 -o synthetic.json --edges synthetic.parquet\n\n"
    "It prints what was measured beside what the synthetic graph has, and what was not measured."
)


def synth(  # noqa: PLR0913 — an option each
    graph: GraphArgument,
    *,
    policy: PolicyOption,
    data: DataOption,
    ledger: LedgerOption,
    save: SavedOption = None,
    edges: Annotated[
        Path | None,
        typer.Option(
            "--edges", metavar="FILE", show_default=False, help="A new Parquet file for the edges, columns a and b."
        ),
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    delta: DeltaOption = None,
    form: ShapeOption = Shape.table,
    idempotency_key: IdempotencyOption = None,
    account: AccountOption = None,
    token_file: TokenFileOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Make a graph that is like a private one, with noise that protects each single edge."""
    from discreet.errors import ParameterError
    from discreet.graphs import SynthesizeGraph

    if edges is not None and edges.exists():
        raise ParameterError(f"{edges} is there already; name a new file")
    question = SynthesizeGraph(graph, needed_spend(epsilon, rho, None, delta))
    opened = (idempotency_key, account, token_file, key_file)
    release: GraphSynthesis = answered(
        question, policy=policy, data=data, ledger=ledger, opened=opened, save=save, form=form
    )
    if edges is not None:
        import pyarrow.parquet as pq

        pq.write_table(release.to_arrow(), edges)
