"""Clients as people have them: psql, psycopg 3 and 2, asyncpg and pg8000 sign in, ask, and repeat for free."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import shutil
import subprocess
from decimal import Decimal
from fractions import Fraction
from typing import Any

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2
import pytest
from fronts import COUNT, Front, fresh

TENTH = Fraction(1, 10)
EPSILON = "-c discreet.epsilon=0.1"


def psql(front: Front, *commands: str, options: str = EPSILON) -> subprocess.CompletedProcess[str]:
    program = shutil.which("psql")
    assert program, "psql is needed here: install postgresql-client"
    words = [word for each in commands for word in ("-c", each)]
    return subprocess.run(
        [program, "-X", front.dsn(options=options), "-A", "-F", "|", "-t", *words],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def close_to(rows: Any, expected: dict[str, int]) -> bool:
    return {city: abs(n - expected[city]) < 300 for city, n in rows} == dict.fromkeys(expected, True)


THOUSANDS = {"Cork": 1000, "Galway": 1000, "Limerick": 1000}


def test_psql(front: Front) -> None:
    question = f"SELECT city, COUNT(*) AS n FROM visits WHERE {fresh()} GROUP BY city ORDER BY city"
    done = psql(
        front,
        question,
        question,
        "SHOW discreet.epsilon",
        "SELECT version()",
        f"COPY ({question}) TO STDOUT CSV HEADER",
    )
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == lines[3:6] and lines[6] == "0.1" and lines[7].startswith("PostgreSQL 18")
    assert close_to([(city, int(n)) for city, n in (line.split("|") for line in lines[:3])], THOUSANDS)
    assert lines[8:] == ["city,n", *(line.replace("|", ",") for line in lines[:3])]
    notices = [line for line in done.stderr.splitlines() if line.startswith("NOTICE")]
    assert notices == [
        "NOTICE:  this answer cost epsilon 0.1",
        *["NOTICE:  free: this account has had this answer before"] * 2,
    ]
    assert "With probability 0.95: n ± " in done.stderr


def test_psql_shows_a_plan_and_copies_to_a_file(front: Front, tmp_path: Any) -> None:
    path = tmp_path / "answer.csv"
    before = front.spent()
    assert "discrete Laplace" in psql(front, "EXPLAIN SELECT SUM(cost) FROM visits").stdout
    assert front.spent() == before
    done = psql(front, f"\\copy ({COUNT}) TO '{path}' CSV")
    assert done.returncode == 0 and path.read_text().startswith("Cork,")


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg(front: Front, binary: bool) -> None:
    question = (
        f"SELECT city, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE {fresh()} AND day >= %s AND stay < %s "
        "AND insured = %s GROUP BY city"
    )
    values = (dt.date(2024, 1, 1), 31, True)
    with psycopg.connect(front.dsn(options=EPSILON), autocommit=True) as connection:
        before = front.spent()
        rows = connection.execute(question, values, binary=binary).fetchall()
        assert {type(cell) for row in rows for cell in row} == {str, int, float}
        assert front.spent() == before + TENTH
        assert connection.execute(question, values, binary=binary).fetchall() == rows
        assert connection.execute(question, values, prepare=True).fetchall() == rows
        assert front.spent() == before + TENTH
        assert connection.info.server_version == 180004


def test_psycopg_binds_what_python_has(front: Front) -> None:
    with psycopg.connect(front.dsn(), autocommit=True) as connection:
        connection.execute("SET discreet.rehearse = on; SET discreet.epsilon = 1")
        for condition, value in (
            ("cost < %s", Decimal("50.5")), ("cost < %s", 50.5), ("stay = %s", 3), ("city = %s", "Cork"),
            ("day < %s", dt.date(2024, 6, 1)), ("day < %s", dt.datetime(2024, 6, 1, tzinfo=dt.UTC)),
            ("insured = %s", True),
            ("stay < %s", 2**40), ("cost > %s", -1), ("city <> %s", "it's"),
        ):  # fmt: skip
            for binary in (False, True):
                cursor = connection.execute(f"SELECT COUNT(*) FROM visits WHERE {condition}", (value,), binary=binary)
                assert cursor.fetchone() is not None


def test_psycopg_reads_through_a_cursor_of_the_server(front: Front) -> None:
    with psycopg.connect(front.dsn(options=EPSILON)) as connection:
        with connection.cursor("cursor") as cursor:
            cursor.execute(COUNT)
            first = cursor.fetchmany(2)
            rest = cursor.fetchall()
            assert [each.name for each in cursor.description or ()] == ["city", "n"]
        assert connection.execute(COUNT).fetchall() == first + rest and len(first) == 2


def test_psycopg_in_a_pipeline(front: Front) -> None:
    with psycopg.connect(front.dsn(options=EPSILON), autocommit=True) as connection:
        with connection.pipeline():
            counts, one = connection.execute(COUNT), connection.execute("SELECT 1")
            assert close_to(counts.fetchall(), THOUSANDS) and one.fetchall() == [(1,)]
        with connection.pipeline(), pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT SUM(nothing) FROM visits").fetchall()
        assert connection.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ("", b"Cork\t"),
        ("(FORMAT csv, HEADER)", b"city,n\nCork,"),
        ("(FORMAT binary)", b"PGCOPY\n\xff\r\n\0" + bytes(8)),
    ],
)
def test_psycopg_copies_out(front: Front, options: str, start: bytes) -> None:
    with psycopg.connect(front.dsn(options=EPSILON)) as connection:
        rows = connection.execute(COUNT).fetchall()
        with connection.cursor().copy(f"COPY ({COUNT}) TO STDOUT {options}") as copy:
            assert b"".join(map(bytes, copy)).startswith(start)
        if "csv" not in options:
            with connection.cursor().copy(f"COPY ({COUNT}) TO STDOUT {options}") as copy:
                copy.set_types(["text", "int8"])
                assert list(copy.rows()) == rows


def test_psycopg_over_asyncio_in_many_sessions(front: Front) -> None:
    async def ask(account: str) -> Any:
        async with await psycopg.AsyncConnection.connect(front.dsn(account, options=EPSILON)) as connection:
            return await (await connection.execute(COUNT)).fetchall()

    async def main() -> list[Any]:
        return await asyncio.gather(*(ask("ada" if i % 2 else "bob") for i in range(20)))

    answers = asyncio.run(main())
    assert all(answer == answers[0] for answer in answers)


def test_psycopg2(front: Front) -> None:
    connection = psycopg2.connect(front.dsn(options=EPSILON))
    cursor = connection.cursor()
    cursor.execute(
        "SELECT city, COUNT(*) FROM visits WHERE city = %s AND day < %s GROUP BY city", ("Cork", dt.date(2025, 1, 1))
    )
    assert [type(cell) for cell in cursor.fetchone()] == [str, int]
    named = connection.cursor("named")
    named.itersize = 2
    named.execute(COUNT)
    assert close_to(named.fetchall(), THOUSANDS)
    connection.rollback()
    assert any("spending is not undone" in notice for notice in connection.notices)
    connection.set_session(readonly=True, isolation_level="SERIALIZABLE", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("SHOW transaction_isolation")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        cursor.execute("SELECT * FROM visits")
    connection.close()


def test_asyncpg(front: Front) -> None:
    async def main() -> None:
        connection = await asyncpg.connect(
            host=front.host, port=front.port, user="ada", password=front.tokens["ada"], database="visits", ssl=False,
            server_settings={"discreet.epsilon": "0.1"},
        )  # fmt: skip
        question = (
            f"SELECT city, COUNT(*) AS n FROM visits WHERE {fresh()} AND city = $1 AND day > $2 AND stay < $3 "
            "AND insured = $4 AND cost > $5 GROUP BY city"
        )
        before = front.spent()
        prepared = await connection.prepare(question)
        assert [each.name for each in prepared.get_parameters()] == ["text", "date", "int8", "bool", "float8"]
        assert [each.name for each in prepared.get_attributes()] == ["city", "n"]
        assert front.spent() == before
        row = await prepared.fetchrow("Cork", dt.date(2023, 1, 1), 31, True, -1.5)
        assert row["city"] == "Cork" and isinstance(row["n"], int)
        assert front.spent() == before + TENTH
        async with connection.transaction():
            cursor = await connection.cursor(COUNT)
            assert [(await cursor.fetchrow())["city"], *(each["city"] for each in await cursor.fetch(5))] == sorted(
                THOUSANDS
            )
        copied = io.BytesIO()
        assert await connection.copy_from_query(COUNT, output=copied, format="csv") == "COPY 3"
        assert copied.getvalue().startswith(b"Cork,")
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute("DELETE FROM visits")
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT COUNT(*) FROM nothing")
        await connection.close()

    asyncio.run(main())


def test_pg8000(front: Front) -> None:
    connection = pg8000.dbapi.connect(
        user="ada", password=front.tokens["ada"], host=front.host, port=front.port, database="visits"
    )
    cursor = connection.cursor()
    cursor.execute("SET discreet.epsilon = 0.1")
    cursor.execute(
        "SELECT city, COUNT(*), AVG(cost) FROM visits WHERE city = %s AND cost < %s AND day > %s GROUP BY city",
        ("Cork", 1000, dt.date(2023, 1, 1)),
    )
    assert [type(cell) for cell in cursor.fetchone()] == [str, int, float]
    connection.rollback()
    connection.close()


def test_error_bars_come_as_columns_when_asked_for(front: Front) -> None:
    with psycopg.connect(front.dsn(options=EPSILON), autocommit=True) as connection:
        plain = connection.execute(COUNT).fetchall()
        connection.execute("SET discreet.errors = on")
        for _ in range(2):
            cursor = connection.execute(COUNT)
            assert [each.name for each in cursor.description or ()] == ["city", "n", "n_low", "n_high"]
            rows = cursor.fetchall()
            assert [row[:2] for row in rows] == plain
            assert all(low < n < high and high - n == n - low for _, n, low, high in rows)
        heard: list[str] = []
        connection.add_notice_handler(lambda notice: heard.append(notice.message_detail or ""))
        connection.execute(COUNT)
        connection.execute("SET discreet.errors = off")
        connection.execute(COUNT)
        assert heard[0] == heard[1] == f"With probability 0.95: n ± {rows[0][3] - rows[0][1]:.4g}."
        connection.execute("SET discreet.errors = on")
        wide = rows[0][3] - rows[0][2]
        connection.execute("SET discreet.level = 0.5")
        assert connection.execute(COUNT).fetchall()[0][3] - rows[0][1] < wide / 2


def test_what_one_account_paid_for_another_has_for_free(front: Front) -> None:
    question = f"SELECT COUNT(*) FROM visits WHERE {fresh()}"
    heard: list[str] = []
    with (
        psycopg.connect(front.dsn("ada", options=EPSILON), autocommit=True) as ada,
        psycopg.connect(front.dsn("bob", options=EPSILON), autocommit=True) as bob,
    ):
        bob.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        before = front.spent("bob")
        assert ada.execute(question).fetchall() == bob.execute(question).fetchall()
        assert front.spent("bob") == before and heard == ["free: another account paid for this answer"]
        shelf = bob.execute("SELECT question FROM discreet.shelf LIMIT 1").fetchone()
        assert shelf is not None and "COUNT(*)" in shelf[0]
