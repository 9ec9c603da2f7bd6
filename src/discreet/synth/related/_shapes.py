"""How the tables of a fit belong together: which rows belong to which, by the policy's paths and the person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from discreet.errors import ParameterError, QueryError
from discreet.marginals import CellChoice, ColumnCells, private_table
from discreet.policy import Column, ColumnType, Policy
from discreet.query import match_name
from discreet.synth._columns import fitted_columns
from discreet.synth.rules import Follows, Rule, Rules, followers, following_names, sorted_rules

__all__ = ["History", "PublicLink", "Shape", "public_tables", "shapes_of"]

_SURROGATES = ("int", "string")


@dataclass(frozen=True, slots=True)
class History:
    """What is known in advance of the rows of one person, or of those that belong to one row of another table.

    Attributes
    ----------
    order
        The column, of whole numbers or dates, in whose order rows follow one another; each is drawn on the condition of
        the one before. Without it rows are drawn on their own.
    constant
        Columns that are the same in all rows. Of data where they are not, the first row counts.
    along
        Whole numbers that grow with the order, by one for each, as an age does with the year.
    repeats
        Whether two rows may be at the same place in the order.
    """

    order: str | None = None
    constant: Sequence[str] = ()
    along: Sequence[str] = ()
    repeats: bool = True


@dataclass(frozen=True, slots=True)
class PublicLink:
    """A column that holds keys of a public table."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One private table, and where it stands among the others.

    Attributes
    ----------
    table
        Its name.
    columns
        The cells of the columns that are fitted; those of the order column are numbers.
    person
        Its column that names the person, if it has one.
    parent
        The table whose rows its rows belong to, if there is one.
    link, key
        The column that names a row of the parent, and the parent's column for that; None where it is by the person.
    surrogates
        The columns that get new numbers, with their types.
    names
        The columns of its rows, in order.
    order, constant, along, repeats
        As in `History`, None or empty without one.
    public
        Its columns that hold keys of public tables.
    rules
        What each of its rows keeps: conditions, and columns that follow from others.
    """

    table: str
    columns: tuple[ColumnCells, ...]
    person: str | None
    parent: str | None
    link: str | None
    key: str | None
    surrogates: Mapping[str, ColumnType]
    names: tuple[str, ...]
    order: str | None = None
    constant: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    repeats: bool = True
    public: tuple[PublicLink, ...] = field(default=())
    rules: Rules = field(default_factory=Rules)

    def column(self, name: str) -> ColumnCells:
        """The cells of a column."""
        return next(each for each in self.columns if each.name == name)

    @property
    def changing(self) -> tuple[str, ...]:
        """The columns that are neither the same in all rows nor follow from the order."""
        fixed = {self.order, *self.constant, *self.along}
        return tuple(each.name for each in self.columns if each.name not in fixed)

    def to_json(self) -> dict[str, Any]:
        """The shape as plain JSON, which `from_json` restores."""
        return {
            "table": self.table,
            "columns": [each.to_json() for each in self.columns],
            "person": self.person,
            "parent": self.parent,
            "link": self.link,
            "key": self.key,
            "surrogates": dict(self.surrogates),
            "names": list(self.names),
            "order": self.order,
            "constant": list(self.constant),
            "along": list(self.along),
            "repeats": self.repeats,
            "public": [[each.column, each.table, each.key] for each in self.public],
            "rules": self.rules.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Shape:
        """Restore a shape. Raises `ValueError`, `KeyError` or `TypeError` for what is none."""
        shape = cls(
            table=str(data["table"]),
            columns=tuple(ColumnCells.from_json(each) for each in data["columns"]),
            person=_text(data["person"]),
            parent=_text(data["parent"]),
            link=_text(data["link"]),
            key=_text(data["key"]),
            surrogates={str(name): cast("ColumnType", kind) for name, kind in data["surrogates"].items()},
            names=tuple(map(str, data["names"])),
            order=_text(data["order"]),
            constant=tuple(map(str, data["constant"])),
            along=tuple(map(str, data["along"])),
            repeats=bool(data["repeats"]),
            public=tuple(PublicLink(*map(str, each)) for each in data["public"]),
            rules=Rules.from_json(data["rules"]),
        )
        known = {each.name for each in shape.columns}
        used = {*shape.constant, *shape.along, *([shape.order] if shape.order else [])}
        every = [*known, *shape.surrogates, *(each.name for each in shape.rules.followers)]
        if not used <= known or sorted(shape.names) != sorted(every):
            raise ValueError
        if any(kind not in _SURROGATES for kind in shape.surrogates.values()):
            raise ValueError
        return shape


def _text(value: object) -> str | None:
    return None if value is None else str(value)


Choices = Mapping[str, Mapping[str, CellChoice]]


def public_tables(policy: Policy, tables: Sequence[str]) -> tuple[list[str], list[str]]:
    """The private and the public ones of some tables, by their names in the policy."""
    if isinstance(tables, str) or not isinstance(tables, Sequence) or not tables:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QueryError('name the tables in a list, for example synth.fit_tables(session, ["persons", "visits"], …)')
    names = [match_name(str(each), policy.tables, "the policy", "table") for each in tables]
    if len(set(names)) != len(names):
        raise QueryError("a table is named twice; name each once")
    private = [name for name in names if not policy.tables[name].public]
    if not private:
        raise QueryError("all these tables are public: use them as they are, they need no synthetic stand-in")
    return private, [name for name in names if policy.tables[name].public]


def shapes_of(  # noqa: PLR0913, PLR0917
    policy: Policy,
    tables: Sequence[str],
    histories: Mapping[str, History],
    columns: Mapping[str, Sequence[str]],
    cells: Choices,
    links: Mapping[str, str],
    rules: Mapping[str, Sequence[Rule]],
) -> tuple[Shape, ...]:
    """The shapes of tables, each after the one that its rows belong to.

    Raises `QueryError` for tables that do not belong together or columns that cannot be fitted, `ParameterError` for
    wrong choices.
    """
    private, public = public_tables(policy, tables)
    histories = {match_name(str(name), private, "the fit", "table"): each for name, each in histories.items()}
    columns = {match_name(str(name), private, "the fit", "table"): each for name, each in columns.items()}
    cells = {match_name(str(name), private, "the fit", "table"): each for name, each in cells.items()}
    rules = {match_name(str(name), private, "the fit", "table"): each for name, each in rules.items()}
    for name in private:
        private_table(policy, name)
        if policy.tables[name].by_rows:
            raise QueryError(
                f'{name} has unit = "rows", so that none of its rows belong together; fit it alone, by synth.fit'
            )
    linked = _public_links(policy, private, public, links)
    root = _root(policy, private)
    shapes: dict[str, Shape] = {}
    while len(shapes) < len(private):
        for name in private:
            parent = None if name == root else _parent(policy, name, private, root)
            if name not in shapes and (parent is None or parent in shapes):
                history = histories.get(name, History())
                chosen = (columns.get(name), cells.get(name, {}), linked.get(name, ()), rules.get(name, ()))
                shapes[name] = _shape(policy, name, parent, history, *chosen)
    return tuple(shapes.values())


def _root(policy: Policy, private: Sequence[str]) -> str:
    """The table that all others belong to, by paths or the person."""
    people = [name for name in private if policy.tables[name].person is not None]
    if not people:
        path = policy.tables[private[0]].path
        assert path is not None
        raise QueryError(f"rows of {private[0]} belong to rows of {path.table}: name {path.table} too")
    single = [name for name in people if policy.tables[name].rows_per_unit == 1]
    if len(people) > 1 and not single:
        raise QueryError(
            f"{', '.join(people)} have several rows of a person each, and nothing says how they belong together; name "
            "a table with max_rows = 1, which has a row for each person, too, or fit them one by one"
        )
    return (single or people)[0]


def _parent(policy: Policy, name: str, private: Sequence[str], root: str) -> str:
    path = policy.tables[name].path
    if path is None:
        return root
    if path.table not in private:
        raise QueryError(f"rows of {name} belong to rows of {path.table}: name {path.table} too")
    return path.table


def _shape(  # noqa: PLR0913, PLR0917
    policy: Policy,
    name: str,
    parent: str | None,
    history: History,
    wanted: Sequence[str] | None,
    choices: Mapping[str, CellChoice],
    public: Sequence[PublicLink],
    rules: Sequence[Rule],
) -> Shape:
    declared = policy.tables[name]
    table_rules, follows = _rules(name, rules)
    following = following_names(policy, name, follows)
    order, constant, along = _history(name, declared.columns, history, declared.rows_per_unit)
    surrogates: dict[str, ColumnType] = {
        each: _surrogate(policy, name, each) for each in (*declared.hidden, *policy.linked_by(name))
    }
    if wanted is not None:
        wanted = list(dict.fromkeys([*(str(each) for each in wanted), *([order] if order else []), *constant, *along]))
    usual = policy if not public else _with_keys(policy, name, public)
    order_choice = {
        each: choices[each] for each in choices if order is not None and each.casefold() == order.casefold()
    }
    others = {each: choice for each, choice in choices.items() if each not in order_choice}
    if order is not None:
        usual = _with_column(usual, name, order, _order_column(name, order, declared.columns[order]))
        others |= order_choice
    odd = next((each for each in following if each in (order, *constant, *along)), None)
    if odd is not None:
        raise ParameterError(f"{name}.{odd} follows from other columns: leave it out of the history")
    fitted = fitted_columns(usual, name, wanted, others, following)
    unlisted = next((each.name for each in fitted if each.keys == ()), None)
    if unlisted is not None:
        raise QueryError(
            f"{name}.{unlisted} is text without public keys: list its keys in the policy, or leave it out of columns"
        )
    table_rules = replace(table_rules, followers=followers(usual, name, follows, fitted, wanted))
    listed = [*surrogates, *(each.name for each in (*fitted, *table_rules.followers))]
    places = {each: i for i, each in enumerate([*declared.hidden, *declared.columns])}
    path = declared.path
    return Shape(
        table=name,
        columns=fitted,
        person=declared.person,
        parent=parent,
        link=None if path is None else path.column,
        key=None if path is None else path.key,
        surrogates=surrogates,
        names=tuple(sorted(listed, key=lambda each: places.get(each, -1))),
        order=order,
        constant=constant,
        along=along,
        repeats=history.repeats,
        public=tuple(each for each in public if any(column.name == each.column for column in fitted)),
        rules=table_rules,
    )


def _rules(table: str, rules: Sequence[Rule]) -> tuple[Rules, list[Follows]]:
    """The rules of one table among several: conditions, and what follows."""
    table_rules, follows = sorted_rules(rules)
    if table_rules.soft or table_rules.totals:
        raise ParameterError(
            f"{table}: rules of people with all their rows are conditions and synth.Follows; soft rules and totals are "
            "for a table that is fitted alone"
        )
    return table_rules, follows


def _history(
    table: str, declared: Mapping[str, Column], history: object, rows: int
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The columns of a history. Raises `QueryError` or `ParameterError` where there can be none."""
    if not isinstance(history, History):
        raise ParameterError(f'histories are synth.History(order="…"), not {history!r}')
    order = None if history.order is None else match_name(str(history.order), declared, table, "column")
    constant, along = (
        tuple(match_name(str(each), declared, table, "column") for each in names)
        for names in (history.constant, history.along)
    )
    twice = [each for each in (*constant, *along) if each == order or (each in constant and each in along)]
    if twice:
        raise ParameterError(f"{table}.{twice[0]} can be one of the order, constant and along, not two")
    if (order or constant or along) and rows == 1:
        raise QueryError(f"{table} has max_rows = 1: a person has no history of one row")
    if order is not None and declared[order].type not in ("int", "date"):
        raise QueryError(f"{table}.{order} is a {declared[order].type}; an order is of whole numbers or dates")
    for each in along:
        if order is None or declared[order].type != "int" or declared[each].type != "int":
            raise QueryError(f"{table}.{each} cannot grow along: both it and the order must be whole numbers")
        if declared[each].bounds is None:
            raise QueryError(f"{table}.{each} has no bounds: write its bounds into the policy")
    return order, constant, along


def _order_column(table: str, order: str, declared: Column) -> Column:
    """The order column as numbers or dates between bounds, without null."""
    bounds = declared.bounds
    if declared.keys is not None:
        keys = sorted(declared.keys)
        if declared.type != "int" or keys[-1] - keys[0] != len(keys) - 1:
            raise QueryError(f"{table}.{order} has keys that do not follow one another; give it bounds in the policy")
        bounds = (keys[0], keys[-1])
    if bounds is None:
        raise QueryError(f"{table}.{order} has no bounds: write its bounds into the policy")
    if bounds[0] == bounds[1]:
        raise QueryError(f"{table}.{order} has one value alone, which is no order")
    return Column(type=declared.type, bounds=bounds, nullable=False)


def _surrogate(policy: Policy, table: str, column: str) -> ColumnType:
    """The type of new numbers: as the policy says, in any of the tables that hold the same ones."""
    if column == policy.tables[table].person:
        places = [(name, each.person) for name, each in policy.tables.items() if each.person is not None]
    else:
        path = policy.tables[table].path
        home = (path.table, path.key) if path is not None and path.column == column else (table, column)
        paths = [(name, each.path) for name, each in policy.tables.items() if each.path is not None]
        places = [home, *((name, each.column) for name, each in paths if (each.table, each.key) == home)]
    declared = [policy.tables[name].columns[each].type for name, each in places if each in policy.tables[name].columns]
    kind = next(iter(declared), "int")
    if kind not in _SURROGATES:
        raise QueryError(f"{table}.{column} is a {kind}; new numbers are whole numbers or texts")
    return kind


def _with_column(policy: Policy, table: str, name: str, column: Column) -> Policy:
    """The policy with another column in place of one."""
    declared = policy.tables[table]
    changed = declared.model_copy(update={"columns": {**declared.columns, name: column}})
    return policy.model_copy(update={"tables": {**policy.tables, table: changed}})


def _with_keys(policy: Policy, table: str, public: Sequence[PublicLink]) -> Policy:
    """The policy in which columns that hold keys of public tables have those that are listed there."""
    for each in public:
        there, here = policy.tables[each.table].columns[each.key], policy.tables[table].columns[each.column]
        if here.keys is None and there.keys is not None:
            column = Column(type=here.type, keys=there.keys, nullable=here.nullable)
            policy = _with_column(policy, table, each.column, column)
    return policy


def _public_links(
    policy: Policy, private: Sequence[str], public: Sequence[str], links: Mapping[str, str]
) -> dict[str, tuple[PublicLink, ...]]:
    """The columns of each table that hold keys of public tables: those that are named, or have the key's name."""
    chosen: dict[str, dict[str, PublicLink]] = {name: {} for name in private}
    for source, target in links.items():
        table, column = _place(policy, source, private)
        other, key = _place(policy, target, public)
        if policy.tables[other].key != key:
            raise QueryError(f"{other}.{key} is not the key of {other} in the policy, so it may repeat")
        chosen[table][column] = PublicLink(column, other, key)
    for other in public:
        key = policy.tables[other].key
        for table in private:
            column = next(
                (name for name in policy.tables[table].columns if key and name.casefold() == key.casefold()), ""
            )
            if key is not None and column and column not in chosen[table]:
                chosen[table][column] = PublicLink(column, other, key)
    for other in public:
        if not any(each.table == other for listed in chosen.values() for each in listed.values()):
            raise QueryError(
                f'nothing says which rows belong to {other}; say so, as in links={{"visits.plan": "{other}.id"}}'
            )
    for table, listed in chosen.items():
        for each in listed.values():
            _check_link(policy, table, each)
    return {table: tuple(listed.values()) for table, listed in chosen.items()}


def _check_link(policy: Policy, table: str, link: PublicLink) -> None:
    here = policy.tables[table].columns[link.column]
    there = policy.tables[link.table].columns[link.key]
    if here.type != there.type:
        raise QueryError(
            f"{table}.{link.column} is a {here.type} and {link.table}.{link.key} a {there.type}: they cannot be equal"
        )
    if here.keys is None and there.keys is None:
        raise QueryError(
            f"{table}.{link.column} has no public keys: list those of {link.table}.{link.key} in the policy, in either"
        )


def _place(policy: Policy, text: object, tables: Sequence[str]) -> tuple[str, str]:
    table, _, column = str(text).partition(".")
    name = match_name(table, tables, "the fit", "table")
    return name, match_name(column, policy.tables[name].columns, name, "column")
