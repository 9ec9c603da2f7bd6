"""Options of `discreet synth plan` and `fit` for histories and several tables, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import listed_names
from discreet.cli.synth._options import NO_SPEND, Tiers, cell_choices, question_of
from discreet.cli.synth._rules import rules_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.marginals import CellChoice
    from discreet.policy import Policy
    from discreet.privacy import Loss
    from discreet.synth import History, Rule, SynthesisPlan, Synthesize, SynthesizeTables, TablesPlan

__all__ = [
    "AlongOption",
    "ConstantOption",
    "LinkOption",
    "OrderOption",
    "PeopleOption",
    "Related",
    "UniqueOption",
    "fit_question",
    "plan_of",
]

_PEOPLE = "People with all their rows: columns of several tables are TABLE.COLUMN"

PeopleOption = Annotated[
    bool,
    typer.Option(
        "--people",
        rich_help_panel=_PEOPLE,
        help="Fit people with all their rows, not rows one by one. Options below mean this too, and several tables.",
    ),
]
OrderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--order",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=_PEOPLE,
        help="Whole numbers or dates in whose order the rows of a person follow one another. Once for each table.",
    ),
]
UniqueOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unique-order",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=_PEOPLE,
        help="As --order, where no two rows of a person are at the same place, as with a row for each year.",
    ),
]
ConstantOption = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        metavar="A,B",
        show_default=False,
        rich_help_panel=_PEOPLE,
        help="Columns that are the same in all rows of a person. As often as you like.",
    ),
]
AlongOption = Annotated[
    list[str] | None,
    typer.Option(
        "--along",
        metavar="A,B",
        show_default=False,
        rich_help_panel=_PEOPLE,
        help="Whole numbers that grow with the order, one by one, as an age does with the year.",
    ),
]
LinkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="TABLE.COLUMN=PUBLIC.KEY",
        show_default=False,
        rich_help_panel=_PEOPLE,
        help="A column that holds keys of a public table. Columns with the name of its key need no --link.",
    ),
]


@dataclass(frozen=True)
class Related:
    """What the options for people with all their rows ask for."""

    people: bool
    order: Sequence[str] | None
    unique: Sequence[str] | None
    constant: Sequence[str] | None
    along: Sequence[str] | None
    link: Sequence[str] | None

    @property
    def asked(self) -> bool:
        """Whether people with all their rows are asked for, though there is one table."""
        return self.people or any((self.order, self.unique, self.constant, self.along, self.link))


def fit_question(  # noqa: PLR0913, PLR0917 - an option each
    tables: Sequence[str],
    related: Related,
    spend: Loss | None,
    tier: Tiers,
    columns: str | None,
    cells: Sequence[str] | None,
    target: str | None,
    workload: Sequence[str] | None,
    rule: Sequence[str] | None,
    rules: Path | None,
) -> Synthesize | SynthesizeTables:
    """The fit that the options ask for. Raises `ParameterError` for what cannot be read, or does not go together."""
    if len(tables) == 1 and not related.asked:
        return question_of(tables[0], spend, tier, columns, cells, target, workload, rule, rules)
    alone = {"--target": target, "--workload": workload, "--rules": rules if len(tables) > 1 else None}
    odd = next((name for name, value in alone.items() if value), None)
    if odd is not None:
        what = "one table: give conditions by --rule" if odd == "--rules" else "a table that is fitted alone"
        raise ParameterError(f"{odd} is for {what}, not for people with all their rows")
    by_table = {tables[0]: rules_of(rule or (), rules)} if len(tables) == 1 else _rules(tables, rule or ())
    return _related_question(tables, related, spend, tier, columns, cells, by_table)


def plan_of(question: Synthesize | SynthesizeTables, policy: Policy) -> SynthesisPlan | TablesPlan:
    """What a fit would measure. Raises `QueryError` and `ParameterError` as the fit would before its charge."""
    from discreet.synth import Synthesize, plan_question, plan_tables_question

    return (
        plan_question(question, policy) if isinstance(question, Synthesize) else plan_tables_question(question, policy)
    )


def _related_question(  # noqa: PLR0913, PLR0917 - an option each
    tables: Sequence[str],
    related: Related,
    spend: Loss | None,
    tier: Tiers,
    columns: str | None,
    cells: Sequence[str] | None,
    rules: Mapping[str, Sequence[Rule]],
) -> SynthesizeTables:
    """The fit of people that the options ask for. Raises `ParameterError` for options that cannot be read."""
    from discreet.synth import SynthesizeTables

    if spend is None:
        raise ParameterError(NO_SPEND)
    by_column = cell_choices(cells or ())
    chosen: dict[str, dict[str, CellChoice]] = {}
    for (table, column), choice in zip(_placed(tables, list(by_column), "--cells"), by_column.values(), strict=True):
        chosen.setdefault(table, {})[column] = choice
    wanted = listed_names(columns, "--columns")
    return SynthesizeTables(
        tables=list(tables),
        spend=spend,
        tier=tier.value,
        histories=_histories(tables, related),
        columns=_by_table(_placed(tables, wanted or (), "--columns")),
        cells=chosen,
        links=_links(related.link or ()),
        rules=rules,
    )


def _rules(tables: Sequence[str], options: Sequence[str]) -> dict[str, list[Rule]]:
    """The conditions of each of several tables.

    >>> _rules(["orders", "items"], ["items: price > 0", "items: number > 0"])
    {'items': ['price > 0', 'number > 0']}
    """
    rules: dict[str, list[Rule]] = {}
    by_name = {table.casefold(): table for table in tables}
    for option in options:
        table, sign, text = option.partition(":")
        if not sign or table.strip().casefold() not in by_name:
            raise ParameterError(
                f"--rule of several tables names one of them first, as in visits: cost > 0; got {option}"
            )
        rules.setdefault(by_name[table.strip().casefold()], []).append(text.strip())
    return rules


def _histories(tables: Sequence[str], related: Related) -> dict[str, History]:
    from discreet.synth import History

    ordered = _placed(tables, related.order or (), "--order")
    unique = _placed(tables, related.unique or (), "--unique-order")
    constant = _by_table(_placed(tables, _all_names(related.constant, "--constant"), "--constant"))
    along = _by_table(_placed(tables, _all_names(related.along, "--along"), "--along"))
    orders = [*ordered, *unique]
    places = dict(orders)
    if len(places) < len(orders):
        table = next(table for i, (table, _) in enumerate(orders) if table in dict(orders[:i]))
        raise ParameterError(f"{table} has one order; name it once, by --order or --unique-order")
    named = list(dict.fromkeys([*places, *constant, *along]))
    return {
        table: History(
            order=places.get(table),
            constant=constant.get(table, ()),
            along=along.get(table, ()),
            repeats=table not in dict(unique),
        )
        for table in named
    }


def _links(options: Sequence[str]) -> dict[str, str]:
    """Columns, and the public keys that they hold."""
    links: dict[str, str] = {}
    for option in options:
        source, sign, target = (part.strip() for part in option.partition("="))
        if not sign or "." not in source or "." not in target:
            raise ParameterError(f"--link takes a column and a public key, as in visits.plan=plans.id; got {option!r}")
        if source in links:
            raise ParameterError(f"--link names the column {source} twice")
        links[source] = target
    return links


def _placed(tables: Sequence[str], names: Sequence[str], option: str) -> list[tuple[str, str]]:
    """The table and column of each name: of one table a column is named alone.

    >>> _placed(["a", "b"], ["b.x"], "--order"), _placed(["a"], ["x"], "--order")
    ([('b', 'x')], [('a', 'x')])
    """
    if len(tables) == 1:
        return [(tables[0], name) for name in names]
    places: list[tuple[str, str]] = []
    by_name = {table.casefold(): table for table in tables}
    for name in names:
        table, dot, column = name.partition(".")
        if not dot or table.casefold() not in by_name:
            raise ParameterError(f"{option} names columns of several tables as TABLE.COLUMN, not {name}")
        places.append((by_name[table.casefold()], column))
    return places


def _by_table(places: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {}
    for table, column in places:
        listed.setdefault(table, []).append(column)
    return listed


def _all_names(options: Sequence[str] | None, option: str) -> list[str]:
    return [name for each in options or () for name in listed_names(each, option) or ()]
