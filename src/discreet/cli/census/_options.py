"""Options that the commands on statistical tables share, and what they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import spend_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.census import Publication, Publish

__all__ = ["PlotOption", "PublicationArgument", "SpecArgument", "UniverseOption", "question_of", "universe_of"]

SpecArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SPEC", show_default=False, help="A TOML file: the public areas, the tables, shares and rules."
    ),
]
PublicationArgument = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", show_default=False, help="A publication, as `discreet census publish` writes it."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        show_default=False,
        help="Also draw it: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
    ),
]


UniverseOption = Annotated[
    str | None,
    typer.Option(
        "--universe", metavar="NAME", show_default=False, help="The rows of this universe, such as households."
    ),
]


def universe_of(published: Publication, name: str | None) -> Publication:
    """What was published of one universe. Raises `QueryError` if there is none of that name."""
    from discreet.query import match_name

    if name is None:
        return published
    return published.universes[match_name(name, published.universes, "the publication", "universe")]


def question_of(spec: Path, epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> Publish:
    """What is asked. Raises `ParameterError` without a spend."""
    from discreet.census import Publish, Spec

    spend = spend_of(epsilon, rho, mu, delta)
    if spend is None:
        raise ParameterError("say what the publication may cost: --rho R, or --epsilon E, and --delta D beside it")
    return Publish(Spec.load(spec), spend)
