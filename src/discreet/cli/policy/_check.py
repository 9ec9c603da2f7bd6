"""`discreet policy check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.elapsed import elapsed
from discreet.errors import PolicyError, printable

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.cli.policy._permitted import Permitted
    from discreet.cli.policy._stored import Problem
    from discreet.engines import Declared
    from discreet.policy import Policy
    from discreet.policy import Table as PolicyTable

__all__ = ["EXAMPLES", "check"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet policy check visits.toml\n\n"
    "  discreet policy check visits.toml --data visits.parquet\n\n"
    "  discreet policy check shop.toml --data orders=orders.csv --data customers=customers.csv --json\n\n"
    "Exit codes: 0 if the policy can be used, 4 if it is refused or does not fit the data."
)
_UNUSABLE = 4


def check(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", show_default=False, help="The TOML file of public facts.")
    ],
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "-d",
            metavar="[NAME=]SOURCE",
            show_default=False,
            help="As for `discreet query`; only names and declared types are compared. Default: the policy alone.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; see docs/cli.md.")] = False,
) -> None:
    """Show what can be asked of each column, what it lacks for more, and what is wrong. No row is read.

    The planner that answers queries decides, from the policy alone.
    """
    from discreet.cli._options import source_of
    from discreet.cli.policy._stored import Problem, compared, declared_for
    from discreet.policy import load_policy

    try:
        facts = load_policy(policy)
    except PolicyError as error:
        if not error.problems:
            raise
        problems = [Problem(where, what) for where, what in error.problems]
        _finish(policy, None, {}, problems, as_json=as_json)
        return
    declared: dict[str, tuple[Declared, bool]] = {}
    problems: list[Problem] = []
    if data:
        with elapsed():
            declared = declared_for(facts, source_of(data))
        problems = list(compared(facts, declared))
    _finish(policy, facts, declared, problems, as_json=as_json)


def _finish(
    file: Path,
    policy: Policy | None,
    declared: Mapping[str, tuple[Declared, bool]],
    problems: Sequence[Problem],
    *,
    as_json: bool,
) -> None:
    """Print everything; exit with 4 if there are problems."""
    from discreet.cli._output import print_json, print_table
    from discreet.toml_lines import key_lines, line_of

    lines = key_lines(file.read_text(encoding="utf-8")) if problems else {}
    places = [(line_of(problem.path, lines), problem) for problem in problems]
    if as_json:
        wrong = [{"key": ".".join(p.path), "line": line, "problem": p.text} for line, p in places]
        print_json({**({} if policy is None else _to_json(policy)), "problems": wrong})
    else:
        if policy is not None:
            typer.echo(printable(_budget_line(policy)))
            for name in policy.tables:
                typer.echo("\n" + printable(_table_line(policy, name)))
                if policy.tables[name].by_ends:
                    continue
                print_table(_columns_table(policy, name, declared))
                if _untyped_strings(policy, name, declared):
                    typer.echo('These data declare no types. Where "string" is not right, say so in the policy.')
        for line, problem in places:
            where = f"{file}, line {line}" if line is not None else str(file)
            typer.echo(printable(f"{where}: {'.'.join(problem.path) or 'policy'}: {problem.text}"), err=True)
    if problems:
        raise typer.Exit(_UNUSABLE)


def _to_json(policy: Policy) -> dict[str, Any]:
    from discreet.cli.policy._permitted import join_conditions, permitted
    from discreet.privacy import to_json

    tables: list[dict[str, Any]] = []
    for name, table in policy.tables.items():
        asked = {} if table.by_ends else table.columns
        columns = [(column, declaration, permitted(policy, name, column)) for column, declaration in asked.items()]
        tables.append(
            {
                "name": name,
                "unit": table.unit,
                "public": table.public,
                "max_rows": None if table.public else table.max_rows if table.buys_cap else table.rows_per_unit,
                "max_groups": None if table.public else table.max_groups if table.buys_cap else table.groups_per_unit,
                "joins": list(join_conditions(policy, name)),
                "graphs": [graph for graph, each in policy.graphs.items() if each.edges == name],
                "columns": [
                    {
                        "name": column,
                        "type": declaration.type,
                        "group_by": able.group_by,
                        "coarser": None if able.coarser is None else able.coarser.replace("x", column),
                        "coarser_free": able.coarser_free,
                        "numbers": able.numbers,
                        "missing": list(able.missing),
                    }
                    for column, declaration, able in columns
                ],
            }
        )
    budget = None if policy.budget is None else to_json(policy.budget.loss())
    return {"version": policy.version, "budget": budget, "takes_delta": _takes_delta(policy), "tables": tables}


def _takes_delta(policy: Policy) -> bool | None:
    """Whether the budget has a delta; None where it is left to the ledger."""
    return None if policy.budget is None else policy.budget.delta > 0


def _budget_line(policy: Policy) -> str:
    from discreet.privacy import in_words

    if policy.budget is None:
        return (
            "budget: that of the ledger, which `discreet ledger create` makes; a GROUP BY that costs a delta needs a "
            "ledger with one"
        )
    words = f"budget: {in_words(policy.budget.loss())}"
    if _takes_delta(policy):
        return words
    return f"{words}; a GROUP BY that costs a delta is refused: write delta = 1e-6 under [budget], or keys"


def _table_line(policy: Policy, name: str) -> str:
    from discreet.cli.policy._permitted import join_conditions

    table = policy.tables[name]
    if table.public:
        words = "public: its rows protect nobody, and are read through a join"
    elif table.by_ends:
        graphs = [graph for graph, each in policy.graphs.items() if each.edges == name]
        return f"{name}: each row is an edge of two people; no query reads it, only the graph {', '.join(graphs)}"
    elif table.by_rows:
        words = "each row is another person"
    else:
        whose = table.unit if table.path else f"the person in {table.unit}"
        words = f"rows of {whose}; of one person {_caps(table)}"
    joins = list(join_conditions(policy, name))
    return f"{name}: {words}{'; joins ' if joins else ''}{', '.join(joins)}"


def _caps(table: PolicyTable) -> str:
    """How many rows of one person count, and in how many groups."""
    if table.buys_cap:
        groups = "" if table.max_groups is None else f" in {_groups(table.max_groups)} at most"
        return f"as many count{groups} as a query in SQL chooses"
    groups = f" in {_groups(table.groups_per_unit)}" if table.max_groups else ""
    return f"at most {table.rows_per_unit:,} count{'s' if table.rows_per_unit == 1 else ''}{groups}"


def _groups(number: int) -> str:
    return f"{number:,} group{'' if number == 1 else 's'}"


def _columns_table(policy: Policy, name: str, declared: Mapping[str, tuple[Declared, bool]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet.cli.policy._permitted import permitted

    columns, typed = declared.get(name, ({}, False))
    stored = {column.casefold(): kind for column, kind in columns.items()} if typed else {}
    table = Table(box=box.SIMPLE)
    for header in ("column", "type", "GROUP BY", "SUM, AVG, quantiles", "COUNT, WHERE", "for more, it lacks"):
        table.add_column(header)
    for column, declaration in policy.tables[name].columns.items():
        able = permitted(policy, name, column)
        kind = stored.get(column.casefold(), declaration.type)
        cells = [
            column,
            declaration.type if kind in (declaration.type, None) else f"{declaration.type}, stored as {kind}",
            _grouping(able, column, has_delta=_takes_delta(policy)),
            "yes" if able.numbers else "no",
            "yes",
            "; ".join(able.missing),
        ]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _untyped_strings(policy: Policy, name: str, declared: Mapping[str, tuple[Declared, bool]]) -> bool:
    _, typed = declared.get(name, ({}, True))
    return not typed and any(column.type == "string" for column in policy.tables[name].columns.values())


def _grouping(able: Permitted, column: str, *, has_delta: bool | None) -> str:
    if able.group_by == "free":
        return "yes"
    if able.group_by == "person":
        return "no: each is one person's"
    coarser = None if able.coarser is None else f"by {able.coarser.replace('x', column)}"
    if able.coarser_free:
        assert coarser is not None
        return (
            f"yes, costs a delta; {coarser} it costs none"
            if able.group_by == "delta" and has_delta is not False
            else coarser
        )
    words = "yes, costs a delta" if able.group_by == "delta" else f"{coarser}, costs a delta"
    return words if has_delta is not False else "no: needs a delta"
