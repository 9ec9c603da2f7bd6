"""`discreet attack linkage`, `histories`, `homogeneity`, `intersection`, `downcoding`, `minimality`: on releases."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._table_files import table_in
from discreet.cli.attack._options import (
    AcceptOption,
    EvidenceOption,
    HierarchiesOption,
    OriginalArgument,
    QuasiOption,
    ReleaseArgument,
    RowsOption,
    SensitiveOption,
)
from discreet.cli.attack._tables import (
    check_evidence,
    named_columns,
    read_hierarchies,
    read_rows,
    scales_of,
    show_outcome,
)
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "downcoding", "histories", "homogeneity", "intersection", "linkage", "minimality"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet attack linkage release.csv register.csv --on zip,born,sex\n\n"
    "  discreet attack homogeneity release.csv --quasi age,town --sensitive illness --accept 0.05\n\n"
    "  discreet attack downcoding release.csv people.csv --quasi age,town --hierarchies trees.toml\n\n"
    "  discreet attack minimality release.csv people.csv --quasi age,town --sensitive illness --k 10 --l 2\n\n"
    "[bold]Exit codes[/bold]\n\n"
    "  0 it ran, and the advantage is accepted if a limit was given; 1 it may be larger; 2 bad usage; 4 bad files"
)


class Cuts(StrEnum):
    """Methods of which it is known what cuts they try."""

    best = "best"
    fast = "fast"


def linkage(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    register: Annotated[
        Path, typer.Argument(metavar="REGISTER", show_default=False, help="People with the same columns, a row each.")
    ],
    *,
    columns: Annotated[
        str, typer.Option("--on", metavar="A,B,C", show_default=False, help="The columns that both tables have.")
    ],
    row: RowsOption = None,
    hierarchies: HierarchiesOption = None,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Join the release with a register of people: who fits one row that fits nobody else is found."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        published, people = table_in(release), table_in(register)
        names = named_columns(columns, "--on")
        trees = read_hierarchies(hierarchies, people, names)
        outcome = attack.linkage(published, people, names, truth=read_rows(people, row), hierarchies=trees)
    show_outcome(outcome, form, accept, evidence)


def histories(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    known: Annotated[
        Path,
        typer.Argument(
            metavar="KNOWN",
            show_default=False,
            help="The events that are known of each target, with the same columns; persons under the pseudonym that is "
            "right, to which guesses are compared.",
        ),
    ],
    *,
    person: Annotated[str, typer.Option("--person", metavar="COLUMN", show_default=False, help="Whose an event is.")],
    item: Annotated[str, typer.Option("--item", metavar="COLUMN", show_default=False, help="What it is about.")],
    scale: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="COLUMN=NUMBER",
            show_default=False,
            help="Another column, and the difference at which an event counts 1/e. Once for each.",
        ),
    ] = None,
    eccentricity: Annotated[
        float,
        typer.Option(
            "--eccentricity", metavar="E", help="By how many standard deviations the best must stand out for a claim."
        ),
    ] = 1.5,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Find people's histories under pseudonyms by a few events of each, some of them wrong."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        outcome = attack.histories(
            table_in(release),
            table_in(known),
            person=person,
            item=item,
            scales=scales_of(scale or ()),
            eccentricity=eccentricity,
        )
    show_outcome(outcome, form, accept, evidence)


def homogeneity(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    *,
    quasi: QuasiOption,
    sensitive: SensitiveOption,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess of everybody what most of their class have; a claim is a class where all have the same."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        outcome = attack.homogeneity(table_in(release), named_columns(quasi, "--quasi"), sensitive)
    show_outcome(outcome, form, accept, evidence)


def intersection(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    second: Annotated[
        Path, typer.Argument(metavar="SECOND", show_default=False, help="Another release with the same people.")
    ],
    *,
    quasi: QuasiOption,
    sensitive: SensitiveOption,
    second_quasi: Annotated[
        str | None,
        typer.Option("--second-quasi", metavar="A,B", show_default=False, help="Those of the second, if others."),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(
            "--row",
            metavar="COLUMN",
            show_default=False,
            help="A column of the first table: the row of the second, from 0, that is the same person's, and -1 for "
            "none. Default: both have the same people in the same order.",
        ),
    ] = None,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Keep of each person the values that are in both of their classes: two releases tell more than each."""
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        ours, theirs = table_in(release), table_in(second)
        outcome = attack.intersection(
            ours,
            theirs,
            named_columns(quasi, "--quasi"),
            sensitive,
            second_quasi=named_columns(second_quasi, "--second-quasi") or None,
            truth=read_rows(ours, row),
        )
    show_outcome(outcome, form, accept, evidence)


def downcoding(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    original: OriginalArgument,
    *,
    quasi: QuasiOption,
    hierarchies: HierarchiesOption = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            "--prior",
            metavar="FILE",
            show_default=False,
            help="A table whose values are as frequent as an attacker takes them to be at large. Default: ORIGINAL.",
        ),
    ] = None,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess what is below coarser cells, since they are no coarser than they must be.

    The original has the same rows in the same order as the release.
    """
    with elapsed():
        from discreet import attack

        check_evidence(evidence)
        published, truth = table_in(release), table_in(original)
        names = named_columns(quasi, "--quasi")
        outcome = attack.downcoding(
            published,
            truth,
            names,
            hierarchies=read_hierarchies(hierarchies, truth, names),
            prior=None if prior is None else table_in(prior),
        )
    show_outcome(outcome, form, accept, evidence)


def minimality(  # noqa: PLR0913 — an option each
    release: ReleaseArgument,
    original: OriginalArgument,
    *,
    quasi: QuasiOption,
    sensitive: SensitiveOption,
    k: Annotated[int, typer.Option("--k", metavar="K", min=1, show_default=False, help="The smallest class allowed.")],
    diversity: Annotated[
        int | None,
        typer.Option("--l", metavar="L", min=1, show_default=False, help="Every class has so many different values."),
    ] = None,
    closeness: Annotated[
        float | None,
        typer.Option("--t", metavar="T", show_default=False, help="Or: every class is so near to the table."),
    ] = None,
    method: Annotated[
        Cuts, typer.Option("--method", help="How the table was cut: anywhere, or at medians, as `anonymize` names it.")
    ] = Cuts.best,
    hierarchies: HierarchiesOption = None,
    accept: AcceptOption = None,
    evidence: EvidenceOption = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Guess who of a class has which value, since each cut of it failed the condition: --l or --t.

    The original has the same rows in the same order as the release.
    """
    with elapsed():
        from discreet import attack
        from discreet.anonymize import LDiversity, TCloseness

        check_evidence(evidence)
        if (diversity is None) == (closeness is None):
            raise ParameterError("name the condition that each class satisfies: --l or --t, one of them")
        condition = TCloseness(sensitive, closeness) if closeness is not None else LDiversity(sensitive, diversity or 1)
        published, truth = table_in(release), table_in(original)
        names = named_columns(quasi, "--quasi")
        outcome = attack.minimality(
            published,
            truth,
            names,
            condition,
            k=k,
            method=method.value,
            hierarchies=read_hierarchies(hierarchies, truth, names),
        )
    show_outcome(outcome, form, accept, evidence)
