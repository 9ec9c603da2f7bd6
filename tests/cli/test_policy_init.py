"""`discreet policy init`: names and types, never values; a skeleton is refused until its owner decides."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import pty
import re
import shlex
import subprocess
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import PolicyError
from discreet.policy import load_policy


def one_row(variant: int) -> pa.Table:
    """Two tables of one schema, and nothing else in common."""
    return pa.table(
        {
            "id": pa.array([variant], pa.int32()),
            "flag": [bool(variant)],
            "price": [float(variant) + 0.5],
            "exact": pa.array([variant], pa.decimal128(9, 2)),
            "name": [f"secret-{variant}"],
            "kind": pa.array([f"kind-{variant}"]).dictionary_encode(),
            "day": [dt.date(2000 + variant, 1, 1)],
            "at": pa.array([variant], pa.timestamp("us")),
            "tags": [[f"tag-{variant}"]],
            'odd "name"\n': [variant],
        }
    )


TYPES = {
    "id": "int",
    "flag": "bool",
    "price": "float",
    "exact": "decimal",
    "name": "string",
    "kind": "string",
    "day": "date",
    "at": "timestamp",
    'odd "name"\n': "int",
}


def skeletons(cli: Any, write: Any, suffix: str) -> list[str]:
    texts: list[str] = []
    for variant in (1, 7):
        home = Path(f"v{variant}")
        home.mkdir()
        write(home / f"t{suffix}", variant)
        done = cli("policy", "init", str(home / f"t{suffix}"))
        assert done.code == 0
        texts.append(done.out)
    return texts


def write_parquet(path: Path, variant: int) -> None:
    pq.write_table(one_row(variant), path)


def write_database(path: Path, variant: int) -> None:
    source = one_row(variant)
    with duckdb.connect(str(path)) as connection:
        connection.register("source", source)
        connection.execute("CREATE TABLE t AS SELECT * REPLACE (kind::VARCHAR AS kind) FROM source")


def write_csv(path: Path, variant: int) -> None:
    path.write_text(f"id,price,name\n{variant},{variant}.5,secret-{variant}\n" * 1 + "x,y,z\n" * variant)


@pytest.mark.parametrize(("write", "suffix"), [(write_parquet, ".parquet"), (write_database, ".duckdb")])
def test_types_come_from_the_declaration_and_values_from_nowhere(cli: Any, write: Any, suffix: str) -> None:
    one, other = skeletons(cli, write, suffix)
    assert one == other
    assert "secret" not in one
    assert "kind-" not in one
    data = tomllib.loads(one)
    assert {name: column["type"] for name, column in data["tables"]["t"]["columns"].items()} == TYPES
    assert "# tags is of a type that policies do not have" in one
    for word in ("unit", "max_rows", "max_groups", "epsilon", "delta"):
        assert f"\n# {word} = " in one
    assert set(data) == {"version", "relation", "tables"}


def test_an_enum_keeps_its_values_to_itself(cli: Any) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TYPE illness AS ENUM ('gout', 'lupus')")
        connection.execute("CREATE TABLE a (x illness, y STRUCT(gout INTEGER), z INTEGER[])")
        connection.execute("CREATE TABLE b (w UBIGINT)")
    done = cli("policy", "init", "shop.duckdb")
    assert done.code == 0
    assert "gout" not in done.out
    assert tomllib.loads(done.out)["tables"] == {
        "a": {"columns": {"x": {"type": "string"}}},
        "b": {"columns": {"w": {"type": "int"}}},
    }


@pytest.mark.parametrize("suffix", [".csv", ".CSV"])
def test_a_csv_has_names_only(cli: Any, suffix: str) -> None:
    one, other = skeletons(cli, write_csv, suffix)
    assert one == other
    assert "secret" not in one
    columns = tomllib.loads(one)["tables"]["t"]["columns"]
    assert columns == {name: {"type": "string"} for name in ("id", "price", "name")}
    assert "declares no types" in one
    assert one.count("# type?") == 3


def test_tabs_and_gzip(cli: Any) -> None:
    with gzip.open("t.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("a\tb, c\n1\t2\n")
    assert list(tomllib.loads(cli("policy", "init", "t.tsv.gz").out)["tables"]["t"]["columns"]) == ["a", "b, c"]


def test_a_view_is_left_out_since_no_query_reads_it(cli: Any) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE a (x INTEGER)")
        connection.execute("CREATE VIEW b AS SELECT 1 / x AS y FROM a")
    assert list(tomllib.loads(cli("policy", "init", "shop.duckdb").out)["tables"]) == ["a"]


def test_an_unedited_skeleton_is_refused_and_says_what_is_open(cli: Any) -> None:
    done = cli("policy", "init", "visits.parquet", "--output", "new.toml")
    assert done.code == 0
    assert done.err == "new.toml is written. Left to decide in it: tables.visits.unit.\n"
    with pytest.raises(PolicyError, match="unit: is missing"):
        load_policy("new.toml")
    done = cli("query", "SELECT COUNT(*) FROM visits", *["--data", "visits.parquet", "--policy", "new.toml"],
               *["--ledger", "l", "--epsilon", "1"])  # fmt: skip
    assert done.code == 4
    assert not Path("l").exists()


def uncommented(text: str) -> str:
    """The skeleton with every comment that is TOML taken at its word, and `lower` and `upper` decided."""
    text = re.sub(r"^# (\[budget\]|[a-z_]+ = .*)$", r"\1", text, flags=re.MULTILINE).replace('"..."', '"id"')
    text = re.sub(r" \} +# (.*)$", r", \1 }", text, flags=re.MULTILINE)
    return text.replace("lower, upper", "0, 100")


def test_what_stands_in_comments_loads_when_it_is_uncommented(cli: Any) -> None:
    pq.write_table(one_row(1), "t.parquet")
    Path("done.toml").write_text(uncommented(cli("policy", "init", "t.parquet").out))
    policy = load_policy("done.toml")
    table = policy.tables["t"]
    assert (table.unit, table.max_rows, table.max_groups) == ("id", 5, 2)
    assert policy.budget is not None and policy.budget.loss() == dp.approx("1", "1e-6")
    columns = table.columns
    assert {name: column.type for name, column in columns.items()} == TYPES
    assert {name for name, column in columns.items() if column.bounds == (0, 100)} == {
        "id", "price", "exact", 'odd "name"\n',
    }  # fmt: skip
    assert {name for name, column in columns.items() if column.keys is None} == {"at", "day", "exact", "flag", "price"}
    assert all(columns[name].bounds is not None for name in ("at", "day"))


SAID = ("--unit", "person", "--max-rows", "2", "--epsilon", "1")


def test_decisions_on_the_command_line_leave_nothing_to_edit(cli: Any) -> None:
    done = cli("policy", "init", "visits.parquet", *SAID, "--max-groups", "1", "--version", "2026-11", "-o", "new.toml")
    assert done.code == 0
    assert "is written, and complete" in done.err
    policy = load_policy("new.toml")
    table = policy.tables["visits"]
    assert (policy.version, table.unit, table.max_rows, table.max_groups) == ("2026-11", "person", 2, 1)
    assert policy.budget is not None and policy.budget.loss() == dp.approx(1, "1e-6")
    assert "person" not in table.columns
    assert "person says whose a row is" in Path("new.toml").read_text()


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        (("--epsilon", "1/3"), dp.approx("1/3", "1e-6")),
        (("--epsilon", "0.5", "--delta", "0"), dp.pure("0.5")),
        (("--rho", ".25", "--delta", "1e-9"), dp.rho("1/4", "1e-9")),
        (("--mu", "2"), dp.mu(2, "1e-6")),
    ],
)
def test_a_budget_has_any_currency(cli: Any, options: tuple[str, ...], budget: dp.Loss) -> None:
    Path("new.toml").write_text(cli("policy", "init", "visits.parquet", "--unit", "rows", *options).out)
    written = load_policy("new.toml").budget
    assert written is not None and written.loss() == budget


def test_the_printed_commands_run(cli: Any) -> None:
    pq.write_table(pa.table({"who am i": [1, 2], "Home Town": ["a", "b"]}), "a b.parquet")
    options = ("--unit", "who am i", "--max-rows", "1", "-o", "my policy.toml")
    done = cli("policy", "init", "a b.parquet", *options)
    check, create, query = [shlex.split(line) for line in done.err.splitlines() if line.startswith("  discreet ")]
    assert 'GROUP BY "Home Town"' in query[2]
    for command in (check, create, query):
        assert cli(*command[1:]).code == 0, command


def test_columns_and_tables_are_chosen_by_name(cli: Any) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, customer INTEGER, paid DOUBLE, note VARCHAR)")
        connection.execute("CREATE TABLE lines (order_id INTEGER, item VARCHAR, paid DOUBLE)")
        connection.execute("CREATE TABLE items (item VARCHAR)")
    options = ("--tables", "Orders,lines", "--columns", "PAID,item", "--max-rows", "9")
    units = ("--unit", "customer", "--unit", "lines=order_id -> orders.id")
    Path("shop.toml").write_text(cli("policy", "init", "shop.duckdb", *options, *units).out)
    tables = load_policy("shop.toml").tables
    assert {name: (table.unit, list(table.columns)) for name, table in tables.items()} == {
        "lines": ("order_id -> orders.id", ["item", "paid"]),
        "orders": ("customer", ["paid"]),
    }
    left = cli("policy", "init", "shop.duckdb", "--unit", "customer", "--max-rows", "9", "-o", "rest.toml").err
    assert "tables.items.unit, tables.lines.unit." in left


DDL = """
-- CREATE TABLE nothing (x INT); is a comment
CREATE TABLE `shop`.`t` (id INT(11) NOT NULL, price DOUBLE, name VARCHAR(9) DEFAULT ');', extra JSON) ENGINE=InnoDB;
INSERT INTO t VALUES (1, 2.5, 'secret');
"""


def test_types_of_a_csv_come_from_create_table(cli: Any) -> None:
    write_csv(Path("t.csv"), 1)
    Path("schema.sql").write_text(DDL)
    text = cli("policy", "init", "t.csv", "--types", "schema.sql").out
    columns = tomllib.loads(text)["tables"]["t"]["columns"]
    assert columns == {"id": {"type": "int"}, "price": {"type": "float"}, "name": {"type": "string"}}
    assert "type?" not in text and "secret" not in text


CSV_CODEBOOK = """column,type,lower,upper,keys,label
id,BIGINT,,,,
PRICE,float,0,99.5,,"in euros, rounded"
name,string,,,Ann|Bob,
gone,date,,,,
"""
TOML_CODEBOOK = """
id = "BIGINT"
price = { type = "float", bounds = [0, 99.5], label = "in euros, rounded" }
name = { type = "string", keys = ["Ann", "Bob"] }
gone = "date"
"""


@pytest.mark.parametrize(("file", "content"), [("book.csv", CSV_CODEBOOK), ("book.toml", TOML_CODEBOOK)])
def test_types_bounds_and_keys_of_a_csv_come_from_a_codebook(cli: Any, file: str, content: str) -> None:
    write_csv(Path("t.csv"), 1)
    Path(file).write_text(content)
    done = cli("policy", "init", "t.csv", "--unit", "rows", "--codebook", file)
    assert done.err == "note: the data lack what the codebook describes: gone\n"
    Path("new.toml").write_text(done.out)
    columns = load_policy("new.toml").tables["t"].columns
    assert columns["id"].type == "int"
    assert columns["price"].bounds == (0, Fraction("99.5"))
    assert columns["name"].keys == ("Ann", "Bob")
    assert 'price = { type = "float", bounds = [0, 99.5] }' in done.out
    assert "# in euros, rounded" in done.out


def test_keys_of_a_codebook_are_of_the_column_s_type(cli: Any) -> None:
    Path("t.csv").write_text("n,b,d\n")
    Path("book.csv").write_text("column,type,keys\nn,int,1|2\nb,bool,true|FALSE\nd,date,2026-01-31|2026-02-28\n")
    Path("new.toml").write_text(cli("policy", "init", "t.csv", "--unit", "rows", "--codebook", "book.csv").out)
    columns = load_policy("new.toml").tables["t"].columns
    assert columns["n"].keys == (1, 2)
    assert columns["b"].keys == (True, False)
    assert columns["d"].keys == (dt.date(2026, 1, 31), dt.date(2026, 2, 28))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--unit", "persn"), "--unit: visits has no 'persn'; did you mean person?"),
        (("--unit", "a", "--unit", "b"), "given for all tables 2 times; write TABLE=COLUMN"),
        (("--unit", "rows", "--max-rows", "2"), "leave --max-rows and --max-groups out"),
        (("--columns", "age,citty"), "--columns: the data has no 'citty'; did you mean city?"),
        (("--columns", "age,,city"), "names with commas between them"),
        (("--tables", "visit"), "--tables: the data has no 'visit'; did you mean visits?"),
        (("--unit", "rows", "--epsilon", "0"), "epsilon must be greater than 0"),
        (("--epsilon", "1", "--rho", "1"), "give one of --epsilon, --rho"),
        (("--delta", "1e-6"), "--delta stands beside --epsilon, --rho or --mu"),
        (("--unit", "rows", "--version", ""), "version: String should have at least 1 character"),
        (("--ask",), "--ask needs a terminal"),
        (("--types", "nowhere.sql"), "nowhere.sql cannot be read"),
        (("--types", "visits.toml"), "has no CREATE TABLE with a list of columns"),
        (("--codebook", "nowhere.csv"), "nowhere.csv: there is no such file"),
        (("--codebook", "visits.toml"), "version"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_words_that_help(cli: Any, options: tuple[str, ...], words: str) -> None:
    done = cli("policy", "init", "visits.parquet", *options, "-o", "new.toml")
    assert done.code == 2
    assert words in done.err
    assert not Path("new.toml").exists()


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("b.csv", "name,kind\n", "its header line has column and type"),
        ("b.csv", "column,type,unit\n", "remove or rename unit"),
        ("b.csv", "column,type\nage,number of years\n", "age.type: Input should be 'bool', 'int'"),
        ("b.csv", "column,type,lower\nage,int,3\n", "age has one bound"),
        ("b.csv", "column,type,lower,upper\nage,int,9,3\n", "bounds must be [lower, upper] with lower < upper"),
        ("b.csv", "column,type\nage,int\nage,int\n", "it describes age twice"),
        ("b.csv", "column,type\n,int\n", "a line has no name of a column"),
        ("b.csv", "column,type\nage,decimal(9,2)\n", "has more fields than the header"),
        ("b.csv", "column,type,keys\nage,int,1|x\n", "age: key 'x' does not suit a column of type int"),
        ("b.toml", "age = 3", 'write age = "int"'),
        ("b.toml", "age = ", "it is not valid TOML"),
        ("b.toml", 'age = { type = "int", bound = [0, 1] }', "age.bound: unknown key"),
    ],
)
def test_a_codebook_that_says_what_no_policy_may_is_refused(cli: Any, file: str, content: str, words: str) -> None:
    Path(file).write_text(content)
    done = cli("policy", "init", "visits.parquet", "--codebook", file)
    assert done.code == 2
    assert done.err.startswith(f"error: {file}: ")
    assert words in done.err


def test_names_that_sql_takes_for_one_are_named_with_the_way_out(cli: Any) -> None:
    Path("t.csv").write_text("age,Age,city,,city,city\nsecret\n")
    assert cli("policy", "init", "t.csv").err == (
        "error: t.csv: in the header line, column 4 has no name: write one into the file; columns 1 and 2 (age, Age) "
        "have names that differ by case alone, which SQL ignores: rename column 2 to, say, Age_2; columns 3, 5 and 6 "
        "(city) have one name: rename column 5 to, say, city_2 and column 6 to, say, city_3\n"
    )
    pq.write_table(pa.table({"age": [1], "Age": [1]}), "t.parquet")
    assert cli("policy", "init", "t.parquet").err == (
        "error: the columns of t age and Age differ by case alone, which SQL ignores: rename one of them where they "
        "are stored\n"
    )


def test_a_file_with_other_separators_is_noticed(cli: Any) -> None:
    Path("t.csv").write_text("age;city\n1;2\n")
    assert cli("policy", "init", "t.csv").err == (
        "note: there is one column, called age;city: a .csv has commas, a .tsv tabs\n"
    )


def test_questions_in_a_terminal_finish_the_policy(cli: Any) -> None:
    write_csv(Path("t.csv"), 1)
    command = cli.command("policy", "init", "t.csv", "--ask", "-o", "new.toml")
    answers = ("whole", "int", "float", "", "nobody", "ID", "0", "3", "-1", "0.5")
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        seen = b""
        while True:
            try:
                seen += os.read(ours, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0, seen.decode()
    assert b"is written, and complete" in seen and b"secret" not in seen
    policy = load_policy("new.toml")
    table = policy.tables["t"]
    assert (table.unit, table.max_rows) == ("id", 3)
    assert {name: column.type for name, column in table.columns.items()} == {"price": "float", "name": "string"}
    assert policy.budget is not None and policy.budget.loss() == dp.approx("0.5", "1e-6")


def test_a_file_is_never_overwritten(cli: Any) -> None:
    before = Path("visits.toml").read_text()
    done = cli("policy", "init", "visits.parquet", "--output", "visits.toml")
    assert done.code == 2
    assert "left as it is" in done.err
    assert Path("visits.toml").read_text() == before
    assert cli("policy", "init", "visits.parquet", "--output", "no/where.toml").code == 2


def test_bad_sources(cli: Any) -> None:
    Path("bad.parquet").write_text("PAR1")
    Path("bad.duckdb").write_text("no")
    Path("bad.csv").write_bytes(b"\xff\xfe\x00")
    Path("twice.csv").write_text("a,A\n")
    duckdb.connect("empty.duckdb").close()
    for name in (
        "nowhere.csv",
        ".",
        "visits.toml",
        "bad.parquet",
        "bad.duckdb",
        "bad.csv",
        "twice.csv",
        "empty.duckdb",
    ):
        done = cli("policy", "init", name)
        assert done.code == 4, name
        assert done.err.startswith("error: ")
        assert done.out == ""
