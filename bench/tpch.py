"""TPC-H as it is written: what is answered, how near to plain SQL, and what is refused and why.

    python bench/tpch.py --install-peers                     # once: the generator, in bench/.venvs/tpch
    python bench/tpch.py [--scale 0.1] [--runs 15] [--query 4]

Customers are the people; nation, region, part, supplier and partsupp are public. Each query that is planned is asked at
a huge ε first: how many of the rows of plain SQL it has, how many of their values lie within their error bars, and the
largest relative error. Then it is asked at ε = 1 and δ = 1e-6: the error is the median over runs of medians over values
of |answer − truth| / |truth|, where the truth is not 0; CPU seconds are of one answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import discreet as dp
from peering import HERE, install, python_of

NUMBER, TEXT = {"type": "int"}, {"type": "string"}
DATE = {"type": "date", "bounds": ["1992-01-01", "1998-12-31"]}
EXACT = dp.approx(10**9, 1e-9)
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
DELIVERIES = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]


def listed(*keys: str) -> dict[str, Any]:
    return {"type": "string", "keys": list(keys)}


def decimal(lower: float, upper: float) -> dict[str, Any]:
    return {"type": "decimal", "bounds": [lower, upper]}


def private(unit: str, max_rows: int, columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"unit": unit, "max_rows": max_rows, "columns": columns, **more}


def public(key: str | None, **columns: Any) -> dict[str, Any]:
    return {"public": True, **({"key": key} if key else {}), "columns": columns}


def policy() -> dict[str, Any]:
    """What the data owner declares; the bounds are those of the benchmark's own specification."""
    customer = {
        "c_custkey": NUMBER, "c_nationkey": NUMBER, "c_name": TEXT, "c_address": TEXT, "c_phone": TEXT,
        "c_acctbal": decimal(-1000, 10_000), "c_mktsegment": listed(*SEGMENTS), "c_comment": TEXT,
    }  # fmt: skip
    orders = {
        "o_orderkey": NUMBER, "o_custkey": NUMBER, "o_orderstatus": listed("F", "O", "P"),
        "o_totalprice": decimal(0, 600_000), "o_orderdate": DATE, "o_orderpriority": listed(*PRIORITIES),
        "o_clerk": TEXT, "o_shippriority": NUMBER, "o_comment": TEXT,
    }  # fmt: skip
    lineitem = {
        "l_orderkey": NUMBER, "l_partkey": NUMBER, "l_suppkey": NUMBER, "l_linenumber": NUMBER,
        "l_quantity": decimal(1, 50), "l_extendedprice": decimal(0, 105_000), "l_discount": decimal(0, 0.1),
        "l_tax": decimal(0, 0.08), "l_returnflag": listed("A", "N", "R"), "l_linestatus": listed("F", "O"),
        "l_shipdate": DATE, "l_commitdate": DATE, "l_receiptdate": DATE, "l_shipinstruct": listed(*DELIVERIES),
        "l_shipmode": listed(*MODES), "l_comment": TEXT,
    }  # fmt: skip
    part = {
        "p_partkey": NUMBER, "p_name": TEXT, "p_mfgr": TEXT, "p_brand": TEXT, "p_type": TEXT,
        "p_size": {"type": "int", "bounds": [1, 50]}, "p_container": TEXT, "p_retailprice": decimal(0, 2_100),
        "p_comment": TEXT,
    }  # fmt: skip
    supplier = {
        "s_suppkey": NUMBER, "s_name": TEXT, "s_address": TEXT, "s_nationkey": NUMBER, "s_phone": TEXT,
        "s_acctbal": decimal(-1000, 10_000), "s_comment": TEXT,
    }  # fmt: skip
    partsupp = {
        "ps_partkey": NUMBER, "ps_suppkey": NUMBER, "ps_availqty": {"type": "int", "bounds": [0, 10_000]},
        "ps_supplycost": decimal(0, 1_000), "ps_comment": TEXT,
    }  # fmt: skip
    return {
        "version": "1",
        "budget": {"epsilon": 10**14, "delta": 0.9},
        "tables": {
            "customer": private("c_custkey", 1, customer),
            "orders": private("o_custkey", 50, orders),
            "lineitem": private("l_orderkey -> orders.o_orderkey", 200, lineitem),
            "nation": public("n_nationkey", n_nationkey=NUMBER, n_name=TEXT, n_regionkey=NUMBER, n_comment=TEXT),
            "region": public("r_regionkey", r_regionkey=NUMBER, r_name=TEXT, r_comment=TEXT),
            "part": public("p_partkey", **part),
            "supplier": public("s_suppkey", **supplier),
            "partsupp": public(None, **partsupp),
        },
    }


def tables_at(scale: float) -> Path:
    """The folder with the tables, written if need be."""
    folder = HERE / "data" / f"tpch-{scale:g}"
    if not (folder / "queries.json").exists():
        subprocess.run([python_of("tpch"), HERE / "peers" / "tpch_tables.py", str(scale), folder], check=True)
    return folder


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer beside plain SQL: relative errors where the truth is not 0, rows on both sides, values within bars."""

    errors: tuple[float, ...]
    both: int
    asked: int
    within: int
    values: int


def compared(release: dp.Release, truth: list[tuple[Any, ...]]) -> Compared:
    """Rows are matched by the columns that have no noise; a bar is 95 % wide, and a rounding of the grid more."""
    table = release.to_arrow(errors=True)
    names = release.to_arrow().column_names
    noisy = [name for name in names if f"{name}_low" in table.column_names]
    places = [names.index(name) for name in names if name not in noisy]
    rows = {tuple(row[names[i]] for i in places): row for row in table.to_pylist()}
    errors: list[float] = []
    both = within = values = 0
    for exact in truth:
        row = rows.get(tuple(exact[i] for i in places))
        if row is None:
            continue
        both += 1
        for name in noisy:
            value, wanted = row[name], exact[names.index(name)]
            if value is None or wanted is None or row[f"{name}_low"] is None:
                continue
            slack = 1e-6 * abs(float(wanted))
            values += 1
            within += row[f"{name}_low"] - slack <= float(wanted) <= row[f"{name}_high"] + slack
            if wanted:
                errors.append(abs(float(value) - float(wanted)) / abs(float(wanted)))
    return Compared(tuple(errors), both, len(truth), within, values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--query", type=int, action="append")
    options = parser.parse_args()
    if options.install_peers:
        install("tpch", "tpch.txt")
        return
    folder = tables_at(options.scale)
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    plain = duckdb.connect()
    declared = policy()
    for name in declared["tables"]:
        plain.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder / name}.parquet'")
    sources = {name: str(folder / f"{name}.parquet") for name in declared["tables"]}
    print(f"{'':4} {'rows':>9} {'in bars':>9} {'at 1e9':>8} {'at 1':>8} {'CPU s':>6}")
    with dp.connect(sources, declared) as session:
        for number, written in enumerate(queries, 1):
            if options.query and number not in options.query:
                continue
            query = written.strip().rstrip(";")
            try:
                session.plan(query)
            except dp.QueryError as refusal:
                print(f"Q{number:<3} refused: {refusal}")
                continue
            truth = plain.execute(query).fetchall()
            exact = compared(session.sql(query, EXACT), truth)
            errors: list[float] = []
            start = time.process_time()
            for run in range(options.runs):
                spend = dp.approx(1, Fraction(1, 10**6) + Fraction(run, 10**15))  # each run is asked anew
                errors.append(median(compared(session.sql(query, spend), truth).errors or (float("inf"),)))
            used = (time.process_time() - start) / options.runs
            rows, bars = f"{exact.both}/{exact.asked}", f"{exact.within}/{exact.values}"
            off = max(exact.errors, default=float("nan"))
            print(f"Q{number:<3} {rows:>9} {bars:>9} {off:8.1g} {median(errors):8.2g} {used:6.2f}")


if __name__ == "__main__":
    main()
