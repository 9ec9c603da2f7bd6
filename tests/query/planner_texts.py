"""Texts for the planner that nobody writes by hand, of up to 64 KiB: repeated, nested, mutated, grown by a grammar.

Run as a program it plans the texts of some seeds, each of which it names before it begins, and prints for each how many
CPU seconds it took and what came of it; so another process can watch it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import DiscreetError
from discreet.policy import Policy, load_policy
from discreet.privacy import approx
from discreet.query import make_plan

LONGEST = 2**16
SPEND = approx(1, 1e-9)


def _split(text: str) -> list[str]:
    """What stands between the bars of some lines."""
    return text.replace("\n", "").split("¦")


WRAPPERS = [
    (opening, closing)
    for opening, _, closing in (
        each.partition("…")
        for each in _split(
            """\
(…)¦[…]¦{'a': …}¦MAP {'a': …}¦((…))¦(1, …)¦(…, 1)¦ROW(…)¦STRUCT(…)¦MAP(…)¦LIST(…)¦ARRAY(…)¦TUPLE(…)¦NULLABLE(…)¦
DECIMAL(…)¦ENUM(…)¦ABS(…)¦SQRT(…)¦EXP(…)¦FLOOR(…)¦LN(…)¦TRIM(…)¦UPPER(…)¦CONCAT(…)¦f(…)¦SUM(…)¦AVG(…)¦COUNT(…)¦
MEDIAN(…)¦COUNT_IF(…)¦ANY(…)¦ALL(…)¦EXISTS(…)¦COLUMNS(…)¦YEAR(…)¦UNNEST(…)¦ROW(1, …)¦STRUCT_PACK(a := …)¦
COALESCE(…, 1)¦GREATEST(…, 2)¦LEAST(1, …)¦CAST(… AS DOUBLE)¦TRY_CAST(… AS INT)¦CAST(NULL AS STRUCT(a …))¦…::INT¦
…::ROW(a INT)¦NULLIF(…, 1)¦ROUND(…, 1)¦POWER(…, 2)¦LOG(2, …)¦WIDTH_BUCKET(…, 0, 9, 3)¦
REPLACE(…, 'e', 'eeeeeeee')¦REPLACE(plan, 'e', …)¦SUBSTRING(…, 1, 2)¦CONCAT(plan, …)¦DATE_TRUNC('month', …)¦
EXTRACT(year FROM …)¦DATE_DIFF('day', seen, …)¦POSITION('a' IN …)¦CASE WHEN age > 1 THEN … END¦
CASE WHEN age > 1 THEN 1 ELSE … END¦CASE WHEN … THEN 1 END > 1¦CASE … WHEN 1 THEN 2 END¦
CASE age WHEN … THEN 2 END¦IF(age > 1, …, 2)¦CASE WHEN … THEN TRUE END¦- …¦-…¦+…¦~…¦NOT …¦NOT (…)¦@…¦1 - …¦
1 - (…)¦… + 1¦1 + …¦… * age¦1 / …¦… // 2¦2 ** …¦2 ^ …¦1 % …¦… = 1¦1 = …¦… <> 1¦… < 1¦… IS NULL¦… IS NOT NULL¦
… IS DISTINCT FROM 1¦… AND age > 1¦TRUE OR …¦(TRUE OR …)¦(… AND insured)¦… BETWEEN 1 AND 2¦1 BETWEEN 0 AND …¦
(…) BETWEEN 1 AND 2¦… NOT BETWEEN 1 AND 2¦… IN (1)¦1 IN (…)¦… NOT IN (1, 2)¦… LIKE 'a'¦'a' || …¦… || 'a'¦
… COLLATE x¦… AT TIME ZONE 'UTC'¦…[1]¦….a¦a.…¦…[1:2]¦… -> 'a'¦… ->> 'a'¦… #> 'a'¦x -> …¦(x) -> …¦LAMBDA x : …¦
…!¦… IS TRUE¦INTERVAL …¦INTERVAL (…) DAY¦seen + INTERVAL … DAY¦… + INTERVAL 1 DAY¦DATE …¦TIMESTAMP …¦
… FILTER (WHERE TRUE)¦… OVER ()¦SUM(…) OVER ()¦DISTINCT …¦(SELECT … FROM Clinic)¦* EXCLUDE (…)¦ROLLUP (…)¦
CUBE (…)¦GROUPING SETS (…)¦GROUPING(…)¦ALL …¦MAX(…) FILTER (WHERE age > 1)¦CORR(…, age)¦QUANTILE_CONT(…, 0.5)¦
[… FOR x IN y]¦{…}"""
        )
    )
]
LEAVES = _split(
    """\
age¦1¦'a'¦plan¦NULL¦TRUE¦seen¦DATE '2024-01-01'¦COUNT(*)¦SUM(age)¦AVG(cost)¦n¦x¦*¦coins¦insured¦city¦1e-400¦
1e400¦99999999999999999999999999999999999999999999999999999999999999999999999999999999¦0x1F¦'2024-01-31'¦?¦$1¦
:a¦SELECT 1¦WIDTH_BUCKET(age, 0, 120, 9998)¦INTERVAL 3 DAY¦INTERVAL '3 days'¦CURRENT_DATE¦quarter¦Clinic.age¦
t.*"""
)
PLACES = _split(
    """\
SELECT {} FROM Clinic¦SELECT SUM({}) AS n FROM Clinic¦SELECT COUNT(*) AS n, {} AS x FROM Clinic¦{}¦SELECT {}¦
SELECT COUNT(*) FROM Clinic WHERE {}¦SELECT COUNT(*) FROM Clinic WHERE age = {}¦
SELECT COUNT(*) FROM Clinic WHERE city = {}¦SELECT COUNT(*) AS n FROM Clinic HAVING {}¦
SELECT COUNT(*) AS n FROM Clinic ORDER BY {}¦SELECT COUNT(*) FROM Clinic LIMIT {}¦
SELECT COUNT(*) FROM Clinic GROUP BY {}¦SELECT {} AS x, COUNT(*) AS n FROM Clinic GROUP BY 1¦
SELECT COUNT(*) FROM {}¦SELECT COUNT(*) FROM Clinic GROUP BY ROLLUP ({})¦
SELECT COUNT(*) FROM Clinic GROUP BY GROUPING SETS ({})¦WITH {} SELECT COUNT(*) FROM Clinic¦
SELECT SUM(x) FROM (SELECT {} AS x FROM Clinic) AS t¦SELECT COUNT(*) FROM Clinic AS t JOIN Clinic AS u ON {}¦
WITH t AS (SELECT {} AS x FROM Clinic) SELECT SUM(x) FROM t¦
SELECT x FROM (SELECT COUNT(*) AS n FROM Clinic) AS t WHERE {}¦SELECT MEDIAN({}) FROM Clinic¦
SELECT COUNT(DISTINCT {}) FROM Clinic¦SELECT COUNT(*) FILTER (WHERE {}) FROM Clinic¦
SELECT COUNT(*) FROM (SELECT age, {} AS x FROM Clinic UNION ALL SELECT age, age FROM Clinic) AS t¦
SELECT CORR({}, age) FROM Clinic¦SELECT person, COUNT(*) FROM (SELECT DISTINCT {} FROM Visits) AS t¦
SELECT COUNT(*) FROM (SELECT person, SUM({}) AS n FROM Visits GROUP BY person) AS t"""
)
UNITS = _split(
    """\
{i}¦age¦age + {i}¦SUM(age + {i})¦COUNT(*) AS a{i}¦SUM(age + {i}) AS a{i}¦CORR(age + {i}, cost) AS a{i}¦'{i}'¦
MEDIAN(age + {i}) AS a{i}¦STDDEV(age * {i}) AS a{i}¦COUNT(DISTINCT age + {i})¦age = {i}¦plan = 'p{i}'¦
(age, {i})¦()¦WHEN age = {i} THEN {i}¦WHEN {i} THEN {i}¦JOIN Clinic AS t{i} ON TRUE¦
JOIN Clinic AS t{i} USING (age)¦(SELECT 1)¦*¦t{i}.*¦t{i} AS (SELECT * FROM Clinic)¦t{i} AS (SELECT * FROM t{j})¦
t{i} AS (SELECT a.* FROM t{j} AS a JOIN t{j} AS b USING (age))¦a{i} AS age¦
t{i} AS (SELECT * FROM t{j} UNION ALL SELECT * FROM t{j})¦t{i} AS (SELECT age + age AS age FROM t{j})¦
t{i} AS (SELECT COUNT(*) AS n FROM t{j})¦SELECT COUNT(*) FROM Clinic¦SELECT age FROM Clinic¦FROM Clinic¦a{i}¦1¦
n¦ALL¦age DESC NULLS LAST¦DATE '2024-01-01'¦1e-300¦QUANTILE_CONT(age, 0.{i})¦GROUPING(age)¦ROLLUP (plan, coins)¦
CUBE (plan)¦GROUPING SETS ((plan), ())¦WIDTH_BUCKET(age, 0, 120, 9998)¦CASE WHEN age = {i} THEN {i} END¦
age BETWEEN {i} AND {i}¦age LIKE '%'¦CAST(age AS INT)¦INTERVAL 1 DAY¦INTERVAL '1 day'¦seen + INTERVAL {i} DAY¦
ab¦é¦'¦"¦''¦--¦/*¦*/¦/**/¦(¦)¦[¦]¦{{¦}}¦;¦,¦.¦..¦:¦::¦?¦$¦$$¦@¦#¦%¦&¦^¦~¦|¦||¦+¦-¦*¦/¦//¦<¦>¦=¦==¦<>¦!=¦!¦𝔄¦0¦9¦
1e¦0x¦e'¦x'¦r'¦b'¦u&'¦$a$¦->¦=>¦:=¦SELECT¦FROM¦WHERE¦GROUP BY¦WITH¦AS¦CASE¦WHEN¦END¦NOT¦AND¦OR¦IN¦IS¦NULL¦
BETWEEN¦LIKE¦EXISTS¦JOIN¦ON¦UNION ALL¦VALUES¦INTERVAL¦DATE¦CAST¦ROW¦STRUCT¦MAP¦LIST¦ARRAY¦PIVOT¦UNPIVOT¦LATERAL¦
OVER¦PARTITION BY¦FILTER¦DISTINCT¦ROLLUP¦CUBE¦LIMIT¦OFFSET¦TABLE¦EXPLAIN¦ROW(¦STRUCT(¦CASE WHEN ¦SELECT (¦
INTERVAL '¦CAST(¦NOT (¦(SELECT ¦x -> ¦MAP {{¦EXTRACT(¦TRIM(¦f(¦[[¦({{¦ARRAY[¦CAST(a AS STRUCT(a """
)
UNITS += ["--\n", "\\", "`", "´", "\n", "\t", "\x00", " ", "\u3000"]
TYPED = {
    "number": _split(
        """\
ABS({n})¦({n} + {i})¦{n} - 1¦- {n}¦COALESCE({n}, 1)¦CASE WHEN age > {i} THEN {n} ELSE 1 END¦FLOOR({n})¦
SQRT({n})¦GREATEST({n}, {i})¦LEAST({n}, 1, age)¦ROUND({n}, 1)¦CAST({n} AS DOUBLE)¦CAST({n} AS BIGINT)¦
NULLIF({n}, 1)¦({n} * age)¦({n})¦CASE {n} WHEN 1 THEN 2 END¦CASE age WHEN {n} THEN 1 END¦IF({b}, {n}, 2)¦
{n} / 2¦{n} % 7¦POWER({n}, 2)¦LENGTH({s})¦YEAR({d})¦WIDTH_BUCKET({n}, 0, 9, 3)¦CASE WHEN {b} THEN {n} END¦
{n} // 3¦EXP({n})¦LN({n})¦SIGN({n})¦DATE_DIFF('day', {d}, seen)¦POSITION('a' IN {s})¦({n} + {n})¦
CASE WHEN {b} THEN {n} ELSE {n} END"""
    ),
    "bool": _split(
        """\
({b} OR age = {i})¦({b} AND insured)¦NOT {b}¦{n} > {i}¦{n} BETWEEN {i} AND 9¦1 BETWEEN {n} AND 3¦{n} IS NULL¦
({b}) IS TRUE¦{n} IN (1, {i})¦{s} = 'a{i}'¦{s} LIKE 'a%'¦{d} = '2024-01-01'¦{d} > seen¦
CASE WHEN {b} THEN TRUE END¦({b})¦{n} = {n}¦{s} IN ('a', 'b{i}')¦({b} OR {b})¦{n} IS NOT DISTINCT FROM {i}¦
{s} BETWEEN 'a' AND 'b'¦STARTS_WITH({s}, 'a')¦{n} NOT IN (1, {i})¦COALESCE({b}, TRUE)"""
    ),
    "text": _split(
        """\
UPPER({s})¦CONCAT({s}, 'a{i}')¦{s} || 'b'¦REPLACE({s}, 'e', 'eeeeeeee')¦REPLACE('eeee', 'e', {s})¦
SUBSTRING({s}, 1, 3)¦TRIM({s})¦CASE WHEN {b} THEN {s} ELSE 'x{i}' END¦COALESCE({s}, 'a')¦CAST({n} AS VARCHAR)¦
NULLIF({s}, 'a')¦LEFT({s}, 2)¦REVERSE({s})¦CONCAT({s}, {s})¦({s})"""
    ),
    "date": _split(
        """\
{d} + INTERVAL {i} DAY¦DATE_TRUNC('month', {d})¦COALESCE({d}, DATE '2024-01-01')¦
CASE WHEN {b} THEN {d} ELSE seen END¦{d} - INTERVAL '1 month'¦CAST({d} AS DATE)¦GREATEST({d}, seen)¦({d})¦
NULLIF({d}, seen)"""
    ),
}
SEPARATORS = (
    ", ",
    " ",
    "",
    " OR ",
    " AND ",
    " + ",
    "; ",
    " UNION ALL ",
    " = ",
    "\n",
    " || ",
    ".",
    " * ",
    " JOIN ",
    "-",
    " / ",
)
TYPED_LEAVES: dict[str, Sequence[str]] = {
    "number": (
        "age",
        "cost",
        "coins",
        "{i}",
        "WIDTH_BUCKET(age, 0, 120, 9998)",
        "COALESCE(coins, 7)",
        "1e-300",
        "dose",
    ),
    "bool": ("insured", "age > {i}", "TRUE", "plan = 'gold'"),
    "text": ("plan", "city", "'a{i}'"),
    "date": ("seen", "quarter", "DATE '2024-01-31'"),
}
NOISY = _split(
    "COUNT(*)¦SUM({n})¦AVG({n})¦STDDEV({n})¦CORR({n}, age)¦MEDIAN({n})¦COUNT(DISTINCT {n})¦COUNT_IF({b})¦"
    "SUM({n}) FILTER (WHERE {b})"
)
OF_NOISY = _split(
    "{a} + 1¦({a} / COUNT(*))¦ABS({a})¦ROUND({a}, 1)¦COALESCE({a}, 0)¦CASE WHEN {a} > {i} THEN 1 ELSE {a} END¦"
    "GREATEST({a}, {i})¦SQRT({a})¦({a} * {a})"
)
SHORT = {"n": "number", "b": "bool", "s": "text", "d": "date"}
HONEST = _split(
    """\
SELECT plan, COUNT(*) AS n, AVG(cost) AS m FROM Clinic WHERE age > 18 AND city IN ('Graz', 'Wien') \
GROUP BY plan HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 3¦
WITH t AS (SELECT person, SUM(cost) AS s, COUNT(*) AS n FROM Visits GROUP BY person) \
SELECT SUM(s), AVG(n) FROM t WHERE n > 1¦
SELECT plan, insured, GROUPING(plan) AS g, SUM(CASE WHEN age BETWEEN 1 AND 9 THEN cost ELSE 0 END) AS s \
FROM Clinic GROUP BY CUBE (plan, insured)¦
SELECT YEAR(seen) AS y, QUANTILE_CONT(age, [0.25, 0.5]) AS q FROM Clinic \
WHERE seen < DATE '2024-02-01' + INTERVAL 3 DAY GROUP BY 1¦
SELECT COUNT(DISTINCT v.person) AS people, CORR(v.cost, v.cost * v.cost) AS r \
FROM Visits AS v JOIN Visits AS w ON v.person = w.person"""
)
WORDS = " ".join(HONEST).split(" ")


def make_policy() -> Policy:
    """Two tables: one of rows, with columns of every type, and one of people's rows."""
    columns: dict[str, dict[str, Any]] = {
        "age": {"type": "int", "bounds": [0, 120], "nullable": False},
        "cost": {"type": "float", "bounds": [0, 2000]},
        "dose": {"type": "decimal", "bounds": ["0.5", 9]},
        "city": {"type": "string"},
        "plan": {"type": "string", "keys": ["free", "basic", "gold"]},
        "coins": {"type": "int", "keys": list(range(100)), "bounds": [0, 100]},
        "insured": {"type": "bool", "keys": [True, False]},
        "seen": {"type": "date"},
        "quarter": {"type": "date", "keys": ["2024-01-01", "2024-04-01"]},
        "stamp": {"type": "timestamp"},
        'odd "name"': {"type": "int", "bounds": [0, 5]},
    }
    visits: dict[str, Any] = {
        "unit": "person",
        "max_rows": 10,
        "columns": {"cost": columns["cost"], "plan": columns["plan"]},
    }
    budget = {"epsilon": 10**12, "delta": "0.5"}
    tables = {"Clinic": {"unit": "rows", "columns": columns}, "Visits": visits}
    return load_policy({"version": "1", "budget": budget, "tables": tables})


def size_of(rng: random.Random) -> int:
    """A length up to the longest: all orders of magnitude are as likely, as each meets other limits first."""
    return int(2 ** rng.uniform(4, 16))


def filled(unit: Callable[[int], str], separator: str, size: int) -> str:
    """Units one after the other, as many as fit."""
    parts: list[str] = []
    length = 0
    while length < size and len(parts) < size:
        parts.append(unit(len(parts)))
        length += len(parts[-1]) + len(separator)
    return separator.join(parts)


def repeated(rng: random.Random) -> str:
    """One unit, or two by turns, again and again."""
    units = rng.choices(UNITS, k=rng.choice((1, 1, 2)))
    text = filled(lambda i: units[i % len(units)].format(i=i, j=i - 1), rng.choice(SEPARATORS), size_of(rng))
    return rng.choice(PLACES).replace("{}", text)


def nested(rng: random.Random) -> str:
    """A wrapper, or two or three by turns, around a leaf, at any depth."""
    wrappers = rng.choices(WRAPPERS, k=rng.choice((1, 1, 2, 3)))
    depth = int(2 ** rng.uniform(2, 7 if rng.random() < 0.7 else 16))
    text = rng.choice(LEAVES)
    opening, closing = "".join(w[0] for w in wrappers), "".join(w[1] for w in reversed(wrappers))
    depth = max(min(depth // len(wrappers), (LONGEST - 200) // max(len(opening + closing), 1)), 1)
    text = opening * depth + text + closing * depth
    if rng.random() < 0.3:  # many of them
        text = filled(lambda _: text, rng.choice(SEPARATORS), size_of(rng))
    return rng.choice(PLACES).replace("{}", text)


def grown(rng: random.Random) -> str:
    """An expression that a grammar makes, in any place of a query."""

    def expression(size: int) -> str:
        if size < 8:
            return rng.choice(LEAVES)
        if rng.random() < 0.4:
            opening, closing = rng.choice(WRAPPERS)
            return f"{opening}{expression(size - len(opening) - len(closing))}{closing}"
        parts = rng.choice((2, 2, 3, 10, 100))
        return rng.choice(SEPARATORS).join(expression(size // parts - 4) for _ in range(parts))

    return rng.choice(PLACES).replace("{}", expression(size_of(rng)))


def typed(rng: random.Random, kind: str, size: int, wrappers: Sequence[str] | None = None) -> str:
    """An expression of a kind that the planner knows, as deep or as long as its size allows."""
    if size < 12:
        return rng.choice(TYPED_LEAVES[kind]).format(i=rng.randrange(1_000))
    choice = rng.choice(wrappers or TYPED[kind])
    holes = sum(choice.count("{" + short + "}") for short in SHORT)
    each = (size - len(choice)) // max(holes, 1)
    fields = {
        short: typed(rng, SHORT[short], each, wrappers if SHORT[short] == kind else None)
        for short in SHORT
        if "{" + short + "}" in choice
    }
    return choice.format(i=rng.randrange(1_000), **fields)


def supported(rng: random.Random) -> str:
    """A query of nothing but what is supported: many items, or deep ones, or both."""
    size = int(2 ** rng.uniform(5, 15))
    deep = int(2 ** rng.uniform(3, 11 if rng.random() < 0.5 else 8))

    def part(kind: str, wrappers: Sequence[str] | None = None) -> str:
        chosen = wrappers or (rng.choices(TYPED[kind], k=rng.choice((1, 2, 3))) if rng.random() < 0.7 else None)
        return typed(rng, kind, deep, chosen)

    def aggregate() -> str:
        text = rng.choice(NOISY)
        fields = {short: part(SHORT[short]) for short in SHORT if "{" + short + "}" in text}
        return text.format(**fields)

    def result() -> str:
        text = aggregate()
        shape = rng.choice(OF_NOISY)
        for _ in range(rng.choice((0, 0, 1, 5, 30))):
            if len(text) > 4 * deep:
                break
            text = shape.format(a=text, i=rng.randrange(9))
        return text

    def many(make: Callable[[], str], separator: str, room: int) -> str:
        alike = make() if rng.random() < 0.3 else None
        return filled(lambda i: make() if alike is None else alike.replace("age", f"(age + {i})"), separator, room)

    keys = (
        many(lambda: part(rng.choice(list(TYPED))), ", ", rng.choice((deep, size // 4))) if rng.random() < 0.5 else ""
    )
    items = many(result, ", ", rng.choice((deep, size)))
    group = rng.choice(("{}", "{}", "ROLLUP ({})", "CUBE ({})", "ALL", "GROUPING SETS (({}), ())")).format(keys)
    shown = f"{keys}, " if keys and rng.random() < 0.5 else ""
    text = f"SELECT {shown}{items} FROM "
    source = "Clinic"
    for i in range(rng.choice((0, 0, 0, 1, 3, 30))):
        columns = many(lambda: f"{part('number')} AS x{rng.randrange(10**6)}", ", ", rng.choice((8, deep, size // 2)))
        source = rng.choice(("(SELECT *, {c} FROM {s}) AS t{i}", "(SELECT * FROM {s}) AS t{i}")).format(
            c=columns, s=source, i=i
        )
        if len(source) > size:
            break
    text += source
    if rng.random() < 0.5:
        text += " WHERE " + many(lambda: part("bool"), rng.choice((" AND ", " OR ")), rng.choice((deep, size)))
    text += f" GROUP BY {group}" if keys else ""
    if rng.random() < 0.4:
        text += " HAVING " + many(
            lambda: f"{result()} > {rng.randrange(9)}", rng.choice((" AND ", " OR ")), rng.choice((deep, size))
        )
    if rng.random() < 0.4:
        text += " ORDER BY " + rng.choice(("ALL", "1", many(result, ", ", rng.choice((deep, size)))))
    return text + rng.choice(("", " LIMIT 3"))


def mutated(rng: random.Random) -> str:
    """An honest query, or several, whose words are replaced, dropped, repeated or exchanged."""
    words = rng.choice(HONEST).split(" ")
    for _ in range(rng.choice((1, 2, 5, 50))):
        at = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                words[at] = rng.choice(WORDS)
            case 1:
                words[at : at + rng.randrange(4)] = []
            case 2:
                part = words[at : at + rng.randrange(1, 9)]
                words[at:at] = part * int(2 ** rng.uniform(0, 12))
            case 3:
                words[at] = rng.choice(UNITS).format(i=at, j=at - 1) * rng.choice((1, 1, 20, 5_000))
            case _:
                opening, closing = rng.choice(WRAPPERS)
                times = rng.choice((1, 1, 20, 60))
                words[at] = opening * times + words[at] + closing * times
        words = words[:20_000] or ["SELECT"]
    return " ".join(words)


MAKERS = (repeated, nested, grown, mutated, supported, supported)


def text_of(seed: int) -> str:
    """The text of a seed: the same one each time."""
    rng = random.Random(seed)
    return rng.choice(MAKERS)(rng)[:LONGEST]


def plan(text: str, policy: Policy) -> tuple[float, str]:
    """How many CPU seconds it takes to plan or to refuse a text, and "planned", "refused" or what else came of it."""
    began = time.process_time()
    try:
        make_plan(text, policy, SPEND).hash(policy)
    except DiscreetError:
        outcome = "refused"
    except Exception as error:  # noqa: BLE001
        outcome = f"{type(error).__name__}: {str(error)[:200]}"
    else:
        outcome = "planned"
    return time.process_time() - began, outcome


def main(first: int, last: int) -> None:
    policy = make_policy()
    make_plan(HONEST[0], policy, SPEND)
    for seed in range(first, last):
        print("begin", seed, flush=True)
        seconds, outcome = plan(text_of(seed), policy)
        print("end", seed, f"{seconds:.3f}", outcome.replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
