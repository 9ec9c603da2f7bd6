"""What the commands on graphs share: their arguments, and a question that is charged, shown and saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli._options import spend_of
from discreet.cli.ledger._options import Shape
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss

__all__ = [
    "CapOption",
    "CountedOption",
    "DirectionOption",
    "GraphArgument",
    "SavedOption",
    "StatisticArgument",
    "answered",
    "needed_spend",
]

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", show_default=False, help="A graph of the policy, under \\[graphs.NAME].")
]
StatisticArgument = Annotated[
    str,
    typer.Argument(
        metavar="STATISTIC",
        show_default=False,
        help="edges, density, components, 'largest degree', degeneracy, triangles, 2-stars, 4-cycles, 4-cliques, "
        "'average clustering', 'global clustering' or 'degree assortativity'; of a directed graph edges, density, "
        "reciprocity, components, 'largest out-degree' or 'largest in-degree'; where people are protected edges, "
        "triangles, 2-stars, 3-stars or components. A plan is also of mixing or cuts.",
    ),
]
CapOption = Annotated[
    Literal["public", "bought"] | None,
    typer.Option(
        "--cap",
        show_default=False,
        help="Where people are protected: how much at one vertex counts, as much as max_degree allows (public), or a "
        "part of the spend chooses it (bought, the default).",
    ),
]
DirectionOption = Annotated[
    Literal["out", "in"] | None,
    typer.Option("--direction", show_default=False, help="Of a directed graph: which degrees, of arcs out or in."),
]
CountedOption = Annotated[
    Literal["memory", "engine"],
    typer.Option(
        "--counted",
        help="Where it is counted: in memory, into which the edges are read, or in the engine that holds them, for "
        "graphs that do not fit. The same integers get the same noise.",
    ),
]
SavedOption = Annotated[
    Path | None,
    typer.Option("--save", "--output", "-o", metavar="FILE", show_default=False, help="A new file for the release."),
]


def needed_spend(epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> Loss:
    """What is spent. Raises `ParameterError` where nothing is."""
    spend = spend_of(epsilon, rho, mu, delta)
    if spend is None:
        raise ParameterError("say what it may cost: --epsilon E or --rho R")
    return spend


def answered(  # noqa: PLR0913
    question: Any,
    *,
    policy: Path,
    data: list[str],
    ledger: str,
    opened: tuple[str | None, str | None, Path | None, Path | None],
    save: Path | None,
    form: Shape,
    plot: Path | None = None,
) -> Any:
    """Charge a question, print its release, save it, and return it. Raises as `connect` and `Session.answer`."""
    from discreet.cli._options import source_of
    from discreet.cli._output import print_json, print_table
    from discreet.cli._pandas import spare_pandas
    from discreet.cli.ledger._open import access
    from discreet.connection import connect
    from discreet.elapsed import elapsed
    from discreet.errors import printable
    from discreet.explain import check_path
    from discreet.policy import load_policy
    from discreet.privacy import in_words

    if save is not None and save.exists():
        raise ParameterError(f"{save} is there already; name a new file")
    if plot is not None:
        check_path(plot)
    facts = load_policy(policy)
    key, account, token_file, key_file = opened
    with elapsed():
        spare_pandas(data)
        with connect(source_of(data), facts, ledger, **access(ledger, facts, account, token_file, key_file)) as session:
            release: Any = session.answer(question, idempotency_key=key)
            remaining = session.remaining
    if save is not None:
        release.save(save)
    if plot is not None:
        from discreet.explain import save as draw

        draw(release.plot(), plot)
    if form is Shape.json:
        print_json(release.to_dict())
        return release
    print_table(release.rich_table(first=50))
    place = "" if save is None else f"; in {save}"
    typer.echo(printable(f"{release.note()}; cost {in_words(release.loss)}, {in_words(remaining)} left{place}"))
    return release
