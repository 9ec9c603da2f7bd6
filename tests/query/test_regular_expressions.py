"""Regular expressions: none that is planned fails where rows are read, and public keys are what RE2 says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryError
from discreet.query.functions._patterns import read_pattern
from discreet.query.functions._regular_expressions import REGULAR_EXPRESSIONS
from discreet.session import Session

EVALUATE = {entry.names[0]: entry.evaluate for entry in REGULAR_EXPRESSIONS}
PIECES = (
    *(
        "a",
        "b",
        "ab",
        "-",
        ".",
        "^",
        "$",
        "é",
        " ",
        "x{2}",
        "[ab]",
        "[^a]",
        "[a-c]",
        "[-a]",
        "[a-]",
        "[\\d_]",
        "\\d",
        "\\w",
    ),
    *(
        "\\s",
        "\\b",
        "\\B",
        "\\.",
        "\\-",
        "[[:alpha:]]",
        "[^[:digit:]x]",
        "\\D",
        "(a)",
        "(?:ab)",
        "(a|b)",
        "(?:a|bc)",
        "\\t",
    ),
    *("a*", "b+", "a?", ".*", ".+?", "(ab)+", "(?:a+)?", "[ab]{1,3}", "a{2,}", "\\w+", "|", "(b*)", "^a", "b$", "(a)?"),
)
BROKEN = (
    *(
        "",
        "(",
        ")",
        "a)",
        "(a",
        "[",
        "[]",
        "[a",
        "[z-a]",
        "[a-b-c]",
        "[\\d-z]",
        "[a",
        "*a",
        "+",
        "a**",
        "a{2}{3}",
        "a+*",
        "^*",
    ),
    *(
        "(?=a)",
        "(?i)a",
        "(?P<x>a)",
        "(?<x>a)",
        "(?<!a)b",
        "(a)\\1",
        "\\pL",
        "\\p{Greek}",
        "\\C",
        "\\Qa\\E",
        "\\A",
        "\\z",
        "\\x41",
    ),
    *(
        "a|",
        "|a",
        "()",
        "(|a)",
        "{2}",
        "a{3,2}",
        "a{201}",
        "a{1001}",
        "(x{100}){100}",
        "((a{9}){9}){9}",
        "a{,3}",
        "]",
        "}",
    ),
    *(
        "[[:nope:]]",
        "[[.a.]]",
        "[a[b]",
        "\\",
        "a\\",
        "[\\",
        "[a\\",
        "[\\b]",
        "\\_",
        "a" * 1001,
        "(" * 25 + "a" + ")" * 25,
    ),
    *(
        "(a)" * 60,
        "\\b+",
        "a???",
        "a\x00b",
        "\x00",
        "(?",
        "(?:",
        "[a-\\d]",
        "[^]",
        "[^",
        "x{2",
        "x{2,",
        "x{a}",
        "(?:a{60}){4}",
    ),
)


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def _accepted(count: int) -> list[str]:
    dice, patterns = random.Random("patterns"), list[str]()
    while len(patterns) < count:
        text = "".join(dice.choice(PIECES) for _ in range(dice.randrange(1, 9)))
        try:
            read_pattern(text)
        except QueryError:
            continue
        patterns.append(text)
    return patterns


@pytest.mark.parametrize("count", [200, pytest.param(1500, marks=pytest.mark.soak)])
def test_what_is_accepted_never_fails(count: int, plain: duckdb.DuckDBPyConnection) -> None:
    texts = ["", "a", "ab-ab", "é a b", "a\nb", "xx", "ccc" * 50]
    largest = ["[^x]" * 250, "é" * 1000, "(?:[^a]{9}){10}", "[" + "".join(map(chr, range(0x4E00, 0x4E00 + 900))) + "]"]
    largest += [
        "[^[:alpha:][:digit:]_-]{4}" * 5,
        "(a|" * 20 + "b" + ")" * 20,
        ".?" * 500,
        "(?:.{19}){10}" + "." * 900,
        "\\W" * 500,
    ]
    largest += ["[é-ж]" * 200, "[^é-ж][^ぁ-ん]" * 80, "(?:[^ぁ-んァ-ン一-龥]{4}){10}" + "[^ぁ-ん]" * 140]
    for pattern in (*_accepted(count), *largest):
        read_pattern(pattern)
        for text in texts:
            for options in ("", "i"):
                plain.execute(
                    "SELECT regexp_matches(?, ?, ?), regexp_full_match(?, ?)", [text, pattern, options, text, pattern]
                )
        for options in ("g", "gi"):
            plain.execute(
                "SELECT regexp_replace(?, ?, '<\\0>', ?), regexp_extract(?, ?)",
                [texts[2], pattern, options, texts[2], pattern],
            )


@pytest.mark.parametrize("pattern", BROKEN, ids=lambda text: ascii(text[:40]))
def test_what_is_not_in_the_grammar_is_refused_with_what_to_write(pattern: str) -> None:
    with pytest.raises(QueryError, match=r"\b(use|write|has to)\b") as caught:
        read_pattern(pattern)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("count", [200, pytest.param(1500, marks=pytest.mark.soak)])
def test_public_keys_are_what_the_engine_says(count: int, plain: duckdb.DuckDBPyConnection) -> None:
    dice, tried = random.Random("keys"), 0
    texts = ["", "a", "ab-ab", "b a_b 12", "ccc", "aabbab", "x.x", "AB", " a"]
    for pattern in _accepted(count):
        options = dice.choice(["", "i"])
        for text in texts:
            calls: list[tuple[str, list[Any]]] = [
                ("REGEXP_MATCHES", [pattern, options]),
                ("REGEXP_FULL_MATCH", [pattern, options]),
                ("REGEXP_EXTRACT", [pattern, min(read_pattern(pattern).groups, 1), options]),
                ("REGEXP_REPLACE", [pattern, "<>", "g" + options]),
                ("REGEXP_REPLACE", [pattern, "<>", options]),
            ]
            for name, arguments in calls:
                evaluate = EVALUATE[name]
                assert evaluate is not None
                try:
                    ours = evaluate(text, *arguments)
                except ValueError:
                    continue
                marks = ", ".join("?" for _ in range(1 + len(arguments)))
                row = plain.execute(f"SELECT {name}({marks})", [text, *arguments]).fetchone()
                assert row == (ours,), (name, text, arguments)
                tried += 1
    assert tried > 4 * count


def test_no_public_key_keeps_a_plan_busy() -> None:
    for pattern in ("(a+)+b", "(a|a)*b", "a*a*a*a*a*b", "(?:a?){50}a{50}", "(.*)(.*)(.*)(.*)b"):
        evaluate = EVALUATE["REGEXP_MATCHES"]
        assert evaluate is not None
        with pytest.raises(ValueError, match=r"^$"):
            evaluate("a" * 60, pattern)


POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "k": {"type": "string", "keys": ["ab", "ax", "cd"]},
                "s": {"type": "string"},
                "n": {"type": "int"},
            },
        }
    },
}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    rows = pa.table({"k": ["ab", "cd", "ax"] * 50, "s": ["x1y22", "zzz", None] * 50, "n": [1, 2, 3] * 50})
    with dp.connect({"t": rows}, POLICY) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(s, '[0-9]+')", [(50,)]),
        ("SELECT COUNT(*) FROM t WHERE s ~ 'Z+' OR REGEXP_LIKE(s, 'Z', 'i')", [(50,)]),
        ("SELECT COUNT(*) FROM t WHERE s SIMILAR TO 'z' OR NOT s SIMILAR TO 'z+'", [(50,)]),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_FULL_MATCH(s, '(?:[a-z]\\d+)+')", [(50,)]),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_EXTRACT(s, 'y(\\d+)', 1) = '22'", [(50,)]),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_REPLACE(s, '(\\d)', '<\\1>', 'g') = 'x<1>y<2><2>'", [(50,)]),
        ("SELECT REGEXP_EXTRACT(k, '^a') AS g, COUNT(*) FROM t GROUP BY g", [("a", 100), ("", 50)]),
        ("SELECT k ~ '^a' AS g, COUNT(*) FROM t GROUP BY g", [(True, 100), (False, 50)]),
        ("SELECT REGEXP_REPLACE(k, '[bx]', '_') AS g, COUNT(*) FROM t GROUP BY g", [("a_", 100), ("cd", 50)]),
        ("SELECT SUM(LEAST(LENGTH(REGEXP_REPLACE(s, '\\d', '', 'g')), 9)) FROM t", [(700,)]),
        ("SELECT COUNT(DISTINCT REGEXP_EXTRACT(k, '.')) FROM t", [(2,)]),
    ],
)
def test_an_answer(query: str, rows: list[tuple[Any, ...]], session: Session) -> None:
    table = session.sql(query, dp.pure(10**6)).to_arrow()
    assert sorted(zip(*(column.to_pylist() for column in table.columns), strict=True)) == sorted(rows)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT COUNT(*) FROM t WHERE s ~ k", "constant"),
        ("SELECT COUNT(*) FROM t WHERE s ~* 'x'", "REGEXP_MATCHES"),
        ("SELECT COUNT(*) FROM t WHERE n ~ 'x'", "needs a text"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(s, 'a', 's')", "options"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(s, 'a', NULL)", "constant"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(s, 'a', 'ii')", "options"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_EXTRACT(s, '(a)', 2) = 'a'", "group"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_EXTRACT(s, '(a)', n) = 'a'", "group"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_EXTRACT(s, '(a)', ['x']) = 'a'", "group|supported"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_REPLACE(s, '(a)', '\\2') = 'a'", "group"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_REPLACE(s, 'a', 'x\\') = 'a'", "backslash"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_REPLACE(s, 'a', s) = 'a'", "constant"),
        (f"SELECT COUNT(*) FROM t WHERE REGEXP_REPLACE(s, 'a', '{'x' * 51}') = 'a'", "50"),
        ("SELECT COUNT(*) FROM t WHERE REGEXP_EXTRACT_ALL(s, 'a') = 'a'", "REGEXP_EXTRACT"),
        ("SELECT REGEXP_REPLACE(s, 'a', 'b'), COUNT(*) FROM t GROUP BY 1", r"δ|delta"),
        ("SELECT REGEXP_MATCHES(s, 'a') FROM t", "no aggregate"),
    ],
)
def test_a_refusal(query: str, words: str, session: Session) -> None:
    spent = session.spent
    with pytest.raises((QueryError, dp.ParameterError), match=words):
        session.sql(query, dp.pure(1))
    assert session.spent == spent
