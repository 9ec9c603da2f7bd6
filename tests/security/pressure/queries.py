"""Queries that multiply or widen rows: scripts of an attacker, and a grammar that writes more of them at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["SCRIPTS", "Script", "random_query"]


@dataclass(frozen=True, slots=True)
class Script:
    """A query, and the rows of person 777 that it is aimed at."""

    query: str
    neighbour: str


def _wide(count: int, column: str = "note") -> str:
    return ", ".join(f"{column} || '{i}' AS w{i}" for i in range(count))


def _texts(count: int) -> str:
    return ", ".join(f"note || '{i}'" for i in range(count))


def _named_texts(count: int) -> str:
    return ", ".join(f"note || '{i}' AS k{i}" for i in range(count))


def _distinct(count: int) -> str:
    return ", ".join(f"COUNT(DISTINCT w{i}) AS d{i}" for i in range(count))


def _union(part: str, count: int) -> str:
    return "(" + " UNION ALL ".join([part] * count) + ") AS s"


_VICTIM = "(SELECT * FROM t WHERE person = 777) AS z"
_PUBLIC = " ".join(f"JOIN products AS {name} ON {name}.id * 0 = z.x * 0" for name in "abc")
_WIDE_CHAIN = " ".join(
    f"LEFT JOIN (SELECT person, {_wide(5)} FROM t) AS {x} ON a.person = {x}.person" for x in "bcdefg"
)
_COMPARED = " OR ".join(f"{x}.w1 > {x}.w2" for x in "bcdefg")
_SELF = " ".join(f"JOIN t AS {x} ON a.person = {x}.person" for x in "bcdef")

SCRIPTS: Mapping[str, Script] = {
    "public, three times": Script(f"SELECT COUNT(*) AS n FROM {_VICTIM} {_PUBLIC}", "one row"),
    "public, one heavy key": Script("SELECT COUNT(*) AS n FROM t JOIN products AS a ON a.kind = t.name", "heavy"),
    "public, repeated keys twice": Script(
        "SELECT COUNT(*) AS n FROM t JOIN products AS a ON a.id = t.x JOIN products AS b ON b.id = t.x", "heavy"
    ),
    "public, beside a computed text": Script(
        "SELECT COUNT(*) AS n FROM (SELECT person, x, note || 'a' AS w FROM t) AS t JOIN products AS a ON a.id = t.x "
        "WHERE t.w <> a.label",
        "heavy",
    ),
    "chain of left joins, five rows": Script(
        f"SELECT COUNT(DISTINCT b.w0) AS n FROM t AS a {_WIDE_CHAIN} WHERE {_COMPARED}", "a few long"
    ),
    "one left join, wide": Script(
        f"SELECT COUNT(w0) AS n, COUNT(w5) AS m FROM t LEFT JOIN (SELECT person, {_wide(10)} FROM orders) AS o "
        "ON o.person = t.person",
        "heavy",
    ),
    "two left joins, wide": Script(
        f"SELECT COUNT(b.w0) AS n, COUNT(DISTINCT c.w1) AS m FROM t AS a "
        f"LEFT JOIN (SELECT person, {_wide(5)} FROM t) AS b ON a.person = b.person "
        f"LEFT JOIN (SELECT person, {_wide(5)} FROM t) AS c ON a.person = c.person WHERE b.w1 <> c.w2",
        "heavy",
    ),
    "self joins of short rows": Script(f"SELECT COUNT(*) AS n FROM t AS a {_SELF}", "heavy"),
    "self join, distinct texts": Script(
        "SELECT COUNT(DISTINCT b.note) AS n FROM t AS a JOIN t AS b ON a.person = b.person", "heavy"
    ),
    "self join, grouped by texts": Script(
        "SELECT a.note, b.note AS other, COUNT(*) AS n FROM t AS a JOIN t AS b ON a.person = b.person "
        "GROUP BY a.note, b.note",
        "heavy",
    ),
    "a path, one heavy key": Script(
        "SELECT b.note, COUNT(*) AS n FROM orders AS a JOIN items AS b ON a.id = b.order_id GROUP BY b.note", "heavy"
    ),
    "twenty times the table": Script(
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT note) AS d FROM {_union('SELECT person, note FROM t', 20)}", "heavy"
    ),
    "twenty times a computed text": Script(
        f"SELECT COUNT(w) AS n, COUNT(DISTINCT w) AS d FROM {_union('SELECT person, REVERSE(note) AS w FROM t', 20)}",
        "heavy",
    ),
    "twenty times one text": Script(
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT note) AS d FROM {_union('SELECT person, note FROM t', 20)}",
        "heavy, alike",
    ),
    "many distinct texts": Script(f"SELECT {_distinct(20)} FROM (SELECT {_wide(20)} FROM t) AS s", "heavy"),
    "distinct texts with FILTER": Script(
        "SELECT "
        + ", ".join(f"COUNT(DISTINCT note || '{i}') FILTER (WHERE x > {i}) AS c{i}" for i in range(6))
        + " FROM t",
        "heavy",
    ),
    "grouped by many texts": Script(f"SELECT {_named_texts(10)}, COUNT(*) AS n FROM t GROUP BY {_texts(10)}", "heavy"),
    "grouped by many texts, all alike": Script(
        f"SELECT {_named_texts(10)}, COUNT(*) AS n FROM t GROUP BY {_texts(10)}", "heavy, alike"
    ),
    "people by many texts": Script(
        f"SELECT {_named_texts(4)}, COUNT(DISTINCT person) AS n FROM t GROUP BY {_texts(4)}", "heavy"
    ),
    "median by many texts": Script(f"SELECT {_named_texts(4)}, MEDIAN(y) AS m FROM t GROUP BY {_texts(4)}", "heavy"),
    "ROLLUP of many texts": Script(
        f"SELECT {_named_texts(8)}, COUNT(*) AS n FROM t GROUP BY ROLLUP ({_texts(8)})", "heavy"
    ),
    "DISTINCT of many texts": Script(f"SELECT DISTINCT {_named_texts(8)} FROM t", "heavy"),
    "many rows, by three texts": Script(
        f"SELECT {_named_texts(3)}, COUNT(*) AS n FROM t GROUP BY {_texts(3)}", "many of some length"
    ),
    "many rows, twenty times": Script(
        f"SELECT COUNT(*) AS n, SUM(x) AS s, COUNT(DISTINCT x) AS d FROM {_union('SELECT person, x FROM t', 20)}",
        "very many short",
    ),
    "many rows, twenty times, median": Script(
        f"SELECT city, MEDIAN(x) AS m FROM {_union('SELECT person, city, x FROM t', 20)} GROUP BY city",
        "very many short",
    ),
    "no smaller row among many": Script(
        "SELECT COUNT(*) AS n FROM t AS a WHERE NOT EXISTS (SELECT * FROM t AS b WHERE a.person = b.person "
        "AND b.y < a.y - 200)",
        "very many short",
    ),
    "no such text among many": Script(
        "SELECT COUNT(*) AS n FROM t AS a WHERE note NOT IN (SELECT b.note || 'a' FROM t AS b "
        "WHERE a.person = b.person)",
        "heavy",
    ),
    "some text is greater": Script(
        "SELECT COUNT(*) AS n FROM items AS a WHERE a.note || 'a' < ANY (SELECT b.note FROM items AS b "
        "WHERE a.order_id = b.order_id)",
        "heavy, own orders",
    ),
    "more than the average of many": Script(
        "SELECT COUNT(*) AS n FROM t AS a WHERE y > (SELECT AVG(b.y) FROM t AS b WHERE a.person = b.person)",
        "very many short",
    ),
    "one row's distinct text": Script("SELECT COUNT(DISTINCT note) AS n FROM t", "one huge"),
    "one row's text as key": Script("SELECT note, COUNT(*) AS n FROM t GROUP BY note", "one huge"),
    "one row's texts, row units": Script(
        "SELECT COUNT(DISTINCT REVERSE(page)) AS n, COUNT(DISTINCT UPPER(page)) AS m FROM visits", "one huge"
    ),
    "one row's text as key, row units": Script("SELECT page, MEDIAN(x) AS m FROM visits GROUP BY page", "one huge"),
}
"""Each made an engine fail with 777 and not without, when the rows and texts of one person had no bound."""


def random_query(dice: random.Random) -> str:
    """A query that the planner mostly accepts: rows multiplied or widened in some ways, then summed in others."""
    if dice.random() < 0.08:
        return _of_row_units(dice)
    source, texts = dice.choices(
        (_table, _wide_source, _stack, _private_joins, _path, _by_person, _public_joins), (2, 2, 3, 4, 2, 2, 4)
    )[0](dice)
    texts = [_changed(dice, text) for text in texts]
    return _summed(dice, source, texts, "a.x")


def _of_row_units(dice: random.Random) -> str:
    source = dice.choice(["visits AS a", "visits AS a JOIN catalog AS c ON c.id = a.x"])
    return _summed(dice, source, [_changed(dice, "a.page") for _ in range(3)], "a.x", person=None)


def _summed(
    dice: random.Random, source: str, texts: Sequence[str], number: str, person: str | None = "a.person"
) -> str:
    """SELECT over a source: measures, keys and a condition."""
    keys = list(dict.fromkeys(dice.choices(texts, k=dice.choice([0, 0, 0, 1, 2, 4, 10]))))
    measures = ["COUNT(*)", f"SUM({number})", f"COUNT(DISTINCT {number})", f"MEDIAN({number})", f"VAR_POP({number})"]
    measures += [f"COUNT(DISTINCT {text})" for text in dice.choices(texts, k=dice.choice([0, 1, 6, 12]))]
    measures += [f"COUNT({text}) FILTER (WHERE {text} > '{i}')" for i, text in enumerate(texts[:2])]
    measures += [f"COUNT(DISTINCT {person})"] if person else []
    chosen = list(dict.fromkeys(dice.sample(measures, dice.choice([1, 2, min(8, len(measures))]))))
    items = [f"{key} AS k{i}" for i, key in enumerate(keys)] + [f"{each} AS m{i}" for i, each in enumerate(chosen)]
    where = dice.choice(["", "", "", f" WHERE {dice.choice(texts)} <> {dice.choice(texts)}", f" WHERE {number} >= 0"])
    where = dice.choice([where, where, where, f" WHERE {dice.choice(texts)} NOT LIKE '%_0%_1%_2%z'"])
    grouped = ", ".join(keys)
    if keys and len(keys) <= 4 and dice.random() < 0.25:
        grouped = f"ROLLUP ({grouped})"
    return f"SELECT {', '.join(items)} FROM {source}{where}{f' GROUP BY {grouped}' if keys else ''}"


def _changed(dice: random.Random, text: str) -> str:
    number = dice.randrange(100)
    return dice.choice(
        [text, f"{text} || '{number}'", f"{text} || '{number}'", f"REVERSE({text})", f"UPPER({text})",
         f"REPLACE({text}, '{number % 10}', '{number}')", f"CONCAT({text}, '{number}', {text})",
         f"SUBSTRING({text}, {1 + number % 3}, 3999)"]
    )  # fmt: skip


Source = tuple[str, list[str]]


def _table(dice: random.Random) -> Source:
    table = dice.choice(["t", "orders"])
    return f"{table} AS a", ["a.note"] * dice.choice([1, 4, 10, 20])


def _wide_rows(dice: random.Random, most: int) -> tuple[str, list[str]]:
    """A sub-query of computed texts, and their names."""
    count = dice.randrange(1, most)
    computed = ", ".join(f"{_changed(dice, 'note')} AS w{i}" for i in range(count))
    table = dice.choice(["t", "orders"])
    where = dice.choice(["", "", " WHERE person = 777"])
    return f"(SELECT person, x, {computed} FROM {table}{where})", [f"w{i}" for i in range(count)]


def _wide_source(dice: random.Random) -> Source:
    rows, names = _wide_rows(dice, 20)
    return f"{rows} AS a", [f"a.{name}" for name in names]


def _stack(dice: random.Random) -> Source:
    count = dice.choice([2, 4, 8, 20])
    parts = [f"SELECT person, x, {_changed(dice, 'note')} AS w, {_changed(dice, 'note')} AS v FROM {table}"
             for table in dice.choices(["t", "orders"], k=count)]  # fmt: skip
    if dice.random() < 0.3:  # the same, by a name that is read again and again
        named = f"WITH p AS ({parts[0]}), q AS (SELECT * FROM p UNION ALL SELECT * FROM p) "
        inner = " UNION ALL ".join(["SELECT * FROM q"] * (count // 2))
        return f"({named}{inner}) AS a", ["a.w", "a.v"]
    return f"({' UNION ALL '.join(parts)}) AS a", ["a.w", "a.v"]


def _private_joins(dice: random.Random) -> Source:
    """The rows of one person meet again and again."""
    source, texts = "t AS a", ["a.note"]
    for i in range(dice.choice([1, 1, 2, 3, 6])):
        word = dice.choice(["JOIN", "LEFT JOIN"])
        if dice.random() < 0.6:
            rows, names = _wide_rows(dice, 8)
        else:
            rows, names = dice.choice(["t", "orders"]), ["note"]
        more = dice.choice(["", "", "", f" AND a.note <> b{i}.{names[0]}", f" AND a.x <= b{i}.x"])
        source += f" {word} {rows} AS b{i} ON a.person = b{i}.person{more}"
        texts += [f"b{i}.{name}" for name in names]
    return source, texts


def _path(dice: random.Random) -> Source:
    """Rows whose person an order names; all orders of a person may have one number."""
    word = dice.choice(["JOIN", "LEFT JOIN"])
    source = f"orders AS a {word} items AS b ON b.order_id = a.id"
    if dice.random() < 0.4:
        source += f" {dice.choice(['JOIN', 'LEFT JOIN'])} items AS c ON c.order_id = a.id"
        return source, ["a.note", "b.note", "c.note"]
    return source, ["a.note", "b.note"]


def _by_person(dice: random.Random) -> Source:
    """One row for each person, or for each person and some texts."""
    count = dice.choice([0, 1, 3, 8])
    keys = list(dict.fromkeys(_changed(dice, "note") for _ in range(count)))
    totals = [f"MAX({_changed(dice, 'note')}) AS w", "COUNT(*) AS x", f"COUNT(DISTINCT {_changed(dice, 'note')}) AS d"]
    named = [f"{key} AS k{i}" for i, key in enumerate(keys)]
    rows = f"SELECT {', '.join(['person', *named, *totals])} FROM t GROUP BY {', '.join(['person', *keys])}"
    return f"({rows}) AS a", ["a.w", *(f"a.k{i}" for i in range(len(keys)))]


def _public_joins(dice: random.Random) -> Source:
    """Rows of people meet rows of nobody, on conditions of every kind."""
    sources: tuple[Callable[[], Source], ...] = (
        lambda: ("t AS a", ["a.note", "a.name"]),
        lambda: ("(SELECT * FROM t WHERE person = 777) AS a", ["a.note", "a.name"]),
        lambda: ("(SELECT person, x, name, note || 'a' AS w FROM t WHERE x >= 0) AS a", ["a.w", "a.name"]),
    )
    joins = dice.choice([1, 1, 2, 3])
    source, texts = dice.choice(sources if joins == 1 else sources[1:2])()  # the crowd alone would be too much
    for i in range(joins):
        table = dice.choice(["products", "products", "catalog"])
        on = dice.choice([f"p{i}.id * 0 = a.x * 0", f"p{i}.id = a.x", f"p{i}.kind = a.name", f"p{i}.x = a.x"])
        more = dice.choice(["", "", f" AND p{i}.label <> {texts[0]}"])
        source += f" {dice.choice(['JOIN', 'JOIN', 'LEFT JOIN'])} {table} AS p{i} ON {on}{more}"
        texts = [*texts, f"p{i}.label"]
    return source, texts
