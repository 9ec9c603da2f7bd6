"""The tables of the desk itself: ``discreet.history``, ``discreet.budget`` and ``discreet.shelf``, which are free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from discreet.privacy import in_words
from discreet.server.desk import Caller, Desk
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.tokens import Token, tokens_of

__all__ = ["desk_answer"]

_SCHEMA: Final = "discreet"
_ROWS: Final = 1_000
_CHARGES: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("answered", pa.timestamp("us")),
        ("account", pa.string()),
        ("question", pa.string()),
        ("loss", pa.string()),
    ]
)
_BUDGET: Final = pa.schema([(name, pa.string()) for name in ("account", "budget", "spent", "remaining")])
_SHELF: Final = pa.schema([_CHARGES.field(name) for name in ("number", "question", "loss")])
_INSTEAD: Final = (
    "Write SELECT columns FROM discreet.history, .budget or .shelf, with ORDER BY a column and LIMIT if need be."
)


def desk_answer(text: str, desk: Desk, caller: Caller) -> pa.Table | None:
    """The answer to a query of the desk's tables; None for a query of others.

    It takes columns, ``ORDER BY`` one of them and ``LIMIT``, of the newest 1,000 rows. Raises `SqlError` for more.
    """
    if _SCHEMA not in text.lower():
        return None
    tokens = tokens_of(text)
    names = [_plain(token) for token in tokens]
    start = next((i for i, name in enumerate(names) if name == "from" and tokens[i].kind == "word"), -1)
    if start < 0 or names[start + 1 : start + 3] != [_SCHEMA, "."]:
        return None
    read = _TABLES.get(names[start + 3] if start + 3 < len(names) else "")
    if read is None:
        raise SqlError("42P01", f"the schema {_SCHEMA} has the tables {', '.join(_TABLES)}")
    table = read(desk, caller)
    return _limited(tokens[start + 4 :], _selected(tokens[1:start], table), table)


def _charges(desk: Desk, caller: Caller) -> pa.Table:
    rows = [
        {
            "number": each.charge.seq,
            "answered": each.charge.at.replace(tzinfo=None),
            "account": each.charge.account,
            "question": each.question,
            "loss": None if each.charge.loss is None else in_words(each.charge.loss),
        }
        for each in desk.history(caller, _ROWS)
    ]
    return pa.Table.from_pylist(rows, schema=_CHARGES)


def _budget(desk: Desk, caller: Caller) -> pa.Table:
    budget = desk.budget(caller)
    row: dict[str, Any] = {
        "account": caller.name,
        "budget": in_words(budget.cap),
        "spent": in_words(budget.spent),
        "remaining": in_words(budget.remaining),
    }
    return pa.Table.from_pylist([row], schema=_BUDGET)


def _shelf(desk: Desk, caller: Caller) -> pa.Table:
    rows = [
        {
            "number": number,
            "question": each.question,
            "loss": None if each.charge.loss is None else in_words(each.charge.loss),
        }
        for number, each in enumerate(desk.shelf(caller, _ROWS), 1)  # its place here: the ledger's own would tell more
    ]
    return pa.Table.from_pylist(rows, schema=_SHELF)


_TABLES: Final[Mapping[str, Callable[[Desk, Caller], pa.Table]]] = {
    "history": _charges,
    "budget": _budget,
    "shelf": _shelf,
}


def _plain(token: Token) -> str:
    return token.text[1:-1].replace('""', '"') if token.kind == "quoted" else token.text.lower()


def _unsupported() -> SqlError:
    return SqlError("0A000", "this is more than the desk's own tables take", _INSTEAD)


def _selected(tokens: list[Token], table: pa.Table) -> list[tuple[str, str]]:
    """The columns that are asked for, each with its name in the answer."""
    items: list[list[str]] = [[]]
    for token in tokens:
        if token.text == ",":
            items.append([])
        elif token.text != ".":
            items[-1].append(_plain(token))
    if items == [["*"]]:
        return [(name, name) for name in table.column_names]
    selected: list[tuple[str, str]] = []
    for item in items:
        name, alias = (item[:-2], item[-1]) if len(item) > 2 and item[-2] == "as" else (item, "")
        if not name or name[:-1] not in ([], *([_SCHEMA, each] for each in _TABLES), *([each] for each in _TABLES)):
            raise _unsupported()
        selected.append((_column(name[-1], table), alias or name[-1]))
    return selected


def _limited(tokens: list[Token], selected: list[tuple[str, str]], table: pa.Table) -> pa.Table:
    words = [_plain(token) for token in tokens]
    if words[:2] == ["order", "by"]:
        rest = words[2:]
        if len(rest) > 1 and rest[1] == ".":
            rest = rest[2:]
        column = _column(rest[0], table) if rest else ""
        descends = len(rest) > 1 and rest[1] == "desc"
        words = rest[2:] if len(rest) > 1 and rest[1] in ("asc", "desc") else rest[1:]
        table = table.sort_by([(column, "descending" if descends else "ascending")])
    if words[:1] == ["limit"] and len(words) == 2 and words[1].isdecimal() and len(words[1]) < 19:
        table, words = table.slice(0, int(words[1])), []
    if words:
        raise _unsupported()
    columns = [table.column(name) for name, _ in selected]
    fields = [table.schema.field(name).with_name(shown) for name, shown in selected]
    return pa.table(columns, schema=pa.schema(fields))


def _column(name: str, table: pa.Table) -> str:
    if name not in table.column_names:
        if name.isidentifier():
            raise SqlError("42703", f"there is no such column; there are {', '.join(table.column_names)}")
        raise _unsupported()
    return name
