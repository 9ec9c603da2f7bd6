"""Releases of bench/private_keys.py by a peer, in the peer's own environment: `python private_keys_peers.py WAY`, JSON.

In: the path of a table of people with race, educ and a whole value, the value's bounds, whether counts alone are asked
or sums and averages too, the ε's, δ, and how many releases of each. Out: for each ε the CPU seconds of a release, the
processes that a peer starts included, and for each release by key what is shown, with the half-widths of 95 % of each
column that the peer states. Each peer is asked for the least that answers, in the way of its manual that errs least.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Shown = dict[str, dict[str, float]]
"""By key, `race|educ`, the columns n, s and a, and of those that have error bars, n±, s± and a±."""
KEYS = ["race", "educ"]
TICKS = os.sysconf("SC_CLK_TCK")


def rows_of(case: Case) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(case["path"])


def with_average(shown: Shown) -> Shown:
    """An average of each sum by its count, where a peer's own would cost more."""
    for row in shown.values():
        if "s" in row:
            row["a"] = row["s"] / max(row["n"], 1)
    return shown


def opendp(case: Case) -> Callable[[float], Shown]:
    """One noisy count that has a threshold, and beside a sum half of the spend."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    frame = pl.read_parquet(case["path"])
    columns = [dp.len(signed=True).alias("n")]
    if case["sums"]:
        columns.append(pl.col("value").cast(pl.Int64).fill_null(0).dp.sum(tuple(case["bounds"])).alias("s"))

    stated: dict[float, dict[str, float]] = {}

    def release(epsilon: float) -> Shown:
        query = dp.Context.compositor(
            data=frame.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=epsilon, delta=case["delta"]),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=by, max_length=2 * len(frame), max_groups=1000) for by in (KEYS, [])],
        ).query()
        query = query.group_by(KEYS).agg(*columns)
        if epsilon not in stated:
            rows = query.summarize(alpha=0.05).to_dicts()
            stated[epsilon] = {row["column"] + "±": float(row["accuracy"]) for row in rows}
        shown: Shown = {}
        for row in query.release().collect().to_dicts():
            key = f"{row.pop('race')}|{row.pop('educ')}"
            shown[key] = {name: float(value) for name, value in row.items()} | stated[epsilon]
        return with_average(shown)

    return release


def smartnoise(case: Case) -> Callable[[float], Shown]:
    """One noisy count that has a threshold, and beside a sum half of the spend, as each column is charged the whole."""
    from snsql import Privacy, from_connection

    frame = rows_of(case).to_pandas()
    low, high = case["bounds"]
    value = {"type": "int", "lower": low, "upper": high, "nullable": False}
    keys = {name: {"type": "string"} for name in KEYS}
    table = {"row_privacy": True, "rows": len(frame), "censor_dims": True, **keys, "value": value}
    columns = {"n": "COUNT(*)", "s": "SUM(value)"} if case["sums"] else {"n": "COUNT(*)"}
    query = f"SELECT race, educ, {', '.join(f'{each} AS {name}' for name, each in columns.items())} FROM dbo.t "
    query += "GROUP BY race, educ"

    def reader(epsilon: float, delta: float) -> Any:
        privacy = Privacy(epsilon=epsilon / len(columns), delta=delta)
        return from_connection(frame, privacy=privacy, metadata={"": {"dbo": {"t": table}}}, engine="pandas")

    def release(epsilon: float) -> Shown:
        # It charges 1.5 times the δ that it is given.
        asked = reader(epsilon, case["delta"] / 1.5)
        spent = asked.get_privacy_cost(query)
        assert spent[0] <= epsilon * 1.0001 and spent[1] <= case["delta"] * 1.0001, spent
        rows = asked.execute(query)[1:]
        return with_average(
            {f"{row[0]}|{row[1]}": dict(zip(columns, map(float, row[2:]), strict=True)) for row in rows}
        )

    return release


def pipelinedp(case: Case, *, own_mean: bool) -> Callable[[float], Shown]:
    """One noisy count of people that has a threshold, beside a sum; or its own count, sum and mean, and a selection."""
    import pipeline_dp

    table = rows_of(case)
    columns = [table[name].to_pylist() for name in ("race", "educ", "value")]
    rows = [(i, f"{race}|{educ}", value) for i, (race, educ, value) in enumerate(zip(*columns, strict=True))]
    metrics = pipeline_dp.Metrics
    if own_mean:
        asked = [metrics.COUNT, metrics.SUM, metrics.MEAN]
    else:
        asked = [metrics.PRIVACY_ID_COUNT, *([metrics.SUM] if case["sums"] else [])]
    limits = dict(zip(("min_value", "max_value"), case["bounds"], strict=True)) if case["sums"] else {}
    names = {"count": "n", "privacy_id_count": "n", "sum": "s", "mean": "a"}

    def release(epsilon: float) -> Shown:
        parameters = pipeline_dp.AggregateParams(
            metrics=asked,
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            post_aggregation_thresholding=not own_mean,
            output_noise_stddev=not own_mean,
            **limits,
        )
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=case["delta"])
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        released = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend()).aggregate(rows, parameters, extractors)
        accountant.compute_budgets()
        shown: Shown = {}
        for key, values in released:
            shown[key] = {names[field]: float(getattr(values, field)) for field in values._fields if field in names}
            for field in values._fields:  # Laplace noise of this deviation is within ln 20 times its scale
                if field.endswith("_noise_stddev"):
                    half = math.log(20) * float(getattr(values, field)) / math.sqrt(2)
                    shown[key][names[field.removesuffix("_noise_stddev")] + "±"] = half
        return shown if own_mean else with_average(shown)

    return release


def spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    one = {"spark.sql.shuffle.partitions": 1, "spark.default.parallelism": 1, "spark.ui.enabled": "false"}
    here = {f"spark.driver.{name}": "127.0.0.1" for name in ("host", "bindAddress")}
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    fixed = {"spark.driver.memory": "2g", "spark.sql.warehouse.dir": folder}
    builder = SparkSession.builder.master("local[1]")
    for name, value in (one | here | fixed).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def tumult(case: Case) -> Callable[[float], Shown]:
    """Groups are selected first, at an even share with the count and the sum of them."""
    from tmlt.analytics import AddOneRow, ApproxDPBudget, KeySet, QueryBuilder, Session

    frame = spark().createDataFrame(rows_of(case).to_pandas()).coalesce(1).cache()
    parts = 3 if case["sums"] else 2

    def release(epsilon: float) -> Shown:
        budget = ApproxDPBudget(epsilon, case["delta"])
        session = Session.from_dataframe(budget, "t", frame, protected_change=AddOneRow())
        part = ApproxDPBudget(epsilon / parts, 0)
        groups = session.evaluate(QueryBuilder("t").get_groups(KEYS), ApproxDPBudget(epsilon / parts, case["delta"]))
        asked = QueryBuilder("t").groupby(KeySet.from_dataframe(groups))
        columns = {"n": asked.count(name="n")}
        if case["sums"]:
            columns["s"] = asked.sum("value", *case["bounds"], name="s")
        shown: Shown = {}
        for name, query in columns.items():
            for row in session.evaluate(query, part).collect():
                shown.setdefault(f"{row['race']}|{row['educ']}", {})[name] = float(row[name])
        return with_average(shown)

    return release


def tumult_core(case: Case) -> Callable[[float], Shown]:
    """The noisy counts by which Tumult Core selects groups, which Tumult Analytics throws away."""
    from tmlt.core.domains.spark_domains import SparkDataFrameDomain, SparkStringColumnDescriptor
    from tmlt.core.measurements.aggregations import create_partition_selection_measurement
    from tmlt.core.utils.exact_number import ExactNumber

    frame = spark().createDataFrame(rows_of(case).to_pandas()).coalesce(1).select(*KEYS).cache()
    domain = SparkDataFrameDomain({name: SparkStringColumnDescriptor(allow_null=True) for name in KEYS})
    delta = ExactNumber.from_float(case["delta"], round_up=False)

    def release(epsilon: float) -> Shown:
        exact = ExactNumber.from_float(epsilon, round_up=False)
        select = create_partition_selection_measurement(domain, epsilon=exact, delta=delta, count_column="n")
        return {f"{row['race']}|{row['educ']}": {"n": float(row["n"])} for row in select(frame).collect()}

    return release


WAYS: dict[str, Callable[[Case], Callable[[float], Shown]]] = {
    "opendp": opendp,
    "smartnoise": smartnoise,
    "pipelinedp": lambda case: pipelinedp(case, own_mean=False),
    "pipelinedp mean": lambda case: pipelinedp(case, own_mean=True),
    "tumult": tumult,
    "tumult core": tumult_core,
}


def descendants(parents: set[int]) -> Iterator[list[str]]:
    """The fields of /proc/PID/stat, from the parent on, of all processes that these started and that still run."""
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()[1:]
        except OSError:
            continue
    while parents:
        parents = {pid for pid, fields in stats.items() if int(fields[0]) in parents}
        yield from (stats[pid] for pid in parents)


def cpu() -> float:
    """User and system seconds of this process and of all that it started."""
    own = os.times()
    used = own.user + own.system + own.children_user + own.children_system
    for fields in descendants({os.getpid()}):
        used += sum(int(each) for each in fields[10:14]) / TICKS
    return used


def main() -> None:
    case = json.load(sys.stdin)
    release = WAYS[sys.argv[1]](case)
    release(case["epsilons"][0])
    answers: list[list[Any]] = []
    for epsilon in case["epsilons"]:
        before = cpu()
        shown = [release(epsilon) for _ in range(case["releases"])]
        answers.append([(cpu() - before) / case["releases"], shown])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
