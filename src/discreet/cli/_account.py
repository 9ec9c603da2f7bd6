"""`discreet account`."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss

__all__ = ["EXAMPLES", "account"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    '  discreet account "10000 * gaussian(1.1).sampled(0.01) + pure(0.1)" --delta 1e-6\n\n'
    '  discreet account "100 * laplace(20)" --delta 1e-6 --epsilon 2 --format json\n\n'
    '  discreet account "randomized_response(0.75).shuffled(10000)" --delta 1e-6 --plot curve.svg'
)

_PRIOR = 0.01


class _Format(StrEnum):
    table = "table"
    json = "json"


def account(
    expression: Annotated[
        str, typer.Argument(metavar="LOSS", show_default=False, help="A sum of losses; see docs/cli.md.")
    ],
    *,
    delta: Annotated[
        str, typer.Option(metavar="D", help="The δ at which ε is stated, at least 0 and below 1, as 1e-6.")
    ] = "0",
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="E", show_default=False, help="Also show δ at this ε, and whether (E, D) holds."),
    ] = None,
    form: Annotated[_Format, typer.Option("--format", help="How to print it; see docs/cli.md.")] = _Format.table,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Also draw ε over δ and the trade-off curve: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
) -> None:
    """Show what a release with this loss reveals: ε with its certified bracket. Reads no data, spends nothing."""
    from discreet.cli._output import print_json
    from discreet.privacy import from_text

    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    with elapsed():
        loss = from_text(expression)
        meaning = _loss_to_json(loss, delta, epsilon)
        if plot is not None:
            from discreet.explain import loss_chart, loss_points, save

            save(loss_chart(loss_points(loss, delta)), plot)
    if form is _Format.json:
        print_json(meaning)
    else:
        _print_for_people(loss, meaning)


def _loss_to_json(loss: Loss, delta: str, epsilon: str | None) -> dict[str, Any]:
    """What is printed, as JSON has it; `null` for infinity."""
    from discreet.privacy import compare, to_json
    from discreet.rational import rational

    at = rational(delta, "--delta")
    low, high = loss.bounds(delta=at)
    if math.isinf(high):
        raise ParameterError(
            f"no epsilon is known for this loss at delta {delta}; allow a larger --delta, such as 1e-6"
        )
    meaning: dict[str, Any] = {
        "loss": to_json(loss),
        "relation": loss.relation,
        "delta": float(at),
        "epsilon": {"lower": low, "upper": high},
        "alternatives": [
            {"name": each.name, "epsilon": each.epsilon, "bound": each.bound, "source": each.source}
            for each in compare(loss, at)
        ],
        "posterior": {"prior": _PRIOR, "upper": loss.posterior(_PRIOR, at)[1]},
    }
    if epsilon is not None:
        wanted = rational(epsilon, "--epsilon")
        lower, upper = loss.bounds(epsilon=wanted)
        meaning["at"] = {"epsilon": float(wanted), "delta": {"lower": lower, "upper": upper}, "fits": upper <= at}
    return meaning


def _print_for_people(loss: Loss, meaning: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from discreet.cli._output import print_table
    from discreet.privacy import in_words

    low, high = meaning["epsilon"]["lower"], meaning["epsilon"]["upper"]
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_row("loss", in_words(loss))
    table.add_row("delta", f"{meaning['delta']:g}")
    table.add_row("epsilon", f"{_up(high)}", f"certified: the truth is between {_down(low)} and {_up(high)}")
    for each in meaning["alternatives"]:
        note = each["source"] if each["bound"] else f"not a bound; {each['source']}"
        table.add_row(f"  {each['name']}", _up(each["epsilon"]), note)
    if "at" in meaning:
        at = meaning["at"]
        verdict = "within" if at["fits"] else "not shown to be within"
        table.add_row(
            f"delta at epsilon {at['epsilon']:g}",
            f"{at['delta']['upper']:.4g}",
            f"{verdict} epsilon {at['epsilon']:g}, delta {meaning['delta']:g}",
        )
    print_table(table)
    for line in _meaning(meaning):
        typer.echo(line)


def _meaning(meaning: dict[str, Any]) -> list[str]:
    high, delta, upper = meaning["epsilon"]["upper"], meaning["delta"], meaning["posterior"]["upper"]
    slack = f", up to {delta:g} of added probability" if delta else ""
    if high < 690:
        ratio = f"{math.exp(high):.4g}"
        lines = [f"Nothing is more than {ratio} times likelier to be seen with one unit's data than without{slack}."]
    else:
        lines = ["Something may be more than 1e299 times likelier to be seen with one unit's data than without."]
    event = f", but for an event of probability {delta:g}" if delta else ""
    if upper < 1:
        lines.append(f"A belief of 1 % in what is true about one person becomes at most {100 * upper:.3g} %{event}.")
    else:
        lines.append("That is too much to bound what a belief of 1 % in what is true about one person can become.")
    return lines


def _up(value: float) -> str:
    """Four digits after the point or four significant ones, never rounded down."""
    return _rounded(value, math.ceil)


def _down(value: float) -> str:
    return _rounded(value, math.floor)


def _rounded(value: float, to_whole: Any) -> str:
    if value == 0 or not 1e-12 < value < 1e12:
        return f"{value:g}"
    scale = 10.0 ** max(4, 4 - math.floor(math.log10(value)))
    return f"{to_whole(value * scale) / scale:.12g}"
