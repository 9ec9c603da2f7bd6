"""Whether tables can find their people in one another."""

from __future__ import annotations

from collections.abc import Callable, Container

from discreet.engines.sql._relation import Relation
from discreet.errors import DataError
from discreet.policy import Policy

__all__ = ["check_links"]


def check_links(
    name: str,
    policy: Policy,
    served: Container[str],
    relation: Callable[[str], Relation],
    family: Callable[[str], str],
) -> None:
    """Raise `DataError` if what says whose a row of a table is could match nothing in another table that is served.

    `family` tells stored types apart whose equal values may have different texts.
    """
    about, stored = policy.tables[name], relation(name).columns
    pairs: list[tuple[str, str, str]] = []
    if about.path is not None:
        pairs.append((about.path.column, about.path.table, about.path.key))
    if about.person is not None:
        others = ((n, t.person) for n, t in policy.tables.items() if n != name and n in served)
        pairs += [(about.person, other, column) for other, column in others if column is not None]
    for column, other, key in pairs:
        here, there = stored[column].type, relation(other).columns[key].type
        if family(here) != family(there):
            raise DataError(
                f"{name}.{column} is stored as {here} and {other}.{key} as {there}, so that the same person would "
                "not be found in both; store them alike"
            )
