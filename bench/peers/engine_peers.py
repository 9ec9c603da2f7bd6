"""One job of bench/engine.py by a peer, in the peer's own environment: `python engine_peers.py PEER JOB`, JSON in, out.

In: the path of the table, how many rows it has, its regions, and a small table that is asked first. Out: CPU and wall
seconds, the peak of memory in MB, and what was released by key. Each peer is asked as its manual says, at ε = 1 and
δ = 1e-6, with at most 10 rows of a person, or where it takes only these, 5 groups and 2 rows in each.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Released = dict[str, dict[str, float]]


def opendp(job: str, case: Case) -> Released:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    key = "category" if job == "B" else "region"
    margin = {"max_length": case["rows"] * 2, "max_groups": 1000}
    query = dp.Context.compositor(
        data=pl.scan_parquet(case["path"]),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(**margin), dp.polars.Margin(by=["category"], **margin)],
    ).query()
    amount, keys = pl.col("amount").fill_nan(0.0).fill_null(0.0), pl.DataFrame({"region": case["regions"]})
    sums = [dp.len().alias("count"), amount.dp.sum((0.0, 1000.0)).alias("sum")]
    match job:
        case "A":
            query = query.truncate_per_group(10).group_by(key).agg(*sums).with_keys(keys)
        case "B":
            query = query.truncate_per_group(2, by=[key]).truncate_num_groups(5, by=[key], keep="first")
            query = query.group_by(key).agg(*sums)
        case "C":
            median = amount.dp.median([float(x) for x in range(0, 1001, 2)]).alias("median")
            query = query.truncate_per_group(10).group_by(key).agg(median).with_keys(keys)
        case "D by region":
            query = query.truncate_per_group(1, by=[key]).truncate_num_groups(5, by=[key], keep="first")
            people = pl.col("person_id").dp.n_unique().alias("people")
            query = query.group_by(key).agg(people).with_keys(keys)
        case _:
            query = query.truncate_per_group(1).select(pl.col("person_id").dp.n_unique().alias("people"))
    found: Released = {}
    for row in query.release().collect().to_dicts():
        name = row.pop(key, "")
        if "sum" in row:
            row["avg"] = row["sum"] / max(1, row["count"])
        found[name] = {each: float(value) for each, value in row.items()}
    return found


def opendp_noise(case: Case) -> float:
    """The scale that it says the noise of job A's sums has."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    query = dp.Context.compositor(
        data=pl.scan_parquet(case["path"]),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=case["rows"] * 2, max_groups=1000)],
    ).query()
    amount = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    query = query.truncate_per_group(10).group_by("region")
    query = query.agg(dp.len().alias("count"), amount.dp.sum((0.0, 1000.0)).alias("sum"))
    said = query.with_keys(pl.DataFrame({"region": case["regions"]})).summarize()
    return float(next(row["scale"] for row in said.to_dicts() if row["column"] == "sum"))


def smartnoise(job: str, case: Case) -> Released:
    import pandas as pd
    from snsql import Privacy, from_connection

    key = "category" if job == "B" else "region"
    columns = {name: {"type": "string"} for name in ("region", "category")}
    about = {"max_ids": 10, "rows": case["rows"], "sample_max_ids": True, "censor_dims": job == "B"}
    amount = {"type": "float", "lower": 0.0, "upper": 1000.0}
    table = {**about, "person_id": {"type": "int", "private_id": True}, **columns, "amount": amount}
    selected = {
        "A": "COUNT(*) AS c, SUM(amount) AS s, AVG(amount) AS a",
        "B": "COUNT(*) AS c, SUM(amount) AS s, AVG(amount) AS a",
        "C": "MEDIAN(amount) AS m",
    }.get(job, "COUNT(DISTINCT person_id) AS p")
    names = {"A": ("count", "sum", "avg"), "B": ("count", "sum", "avg"), "C": ("median",)}.get(job, ("people",))
    parts = {"A": 3, "B": 4}.get(job, 1)  # each noisy column is charged the whole: split so that the query costs 1
    frame = pd.read_parquet(case["path"], columns=["person_id", key, "amount"])
    privacy = Privacy(epsilon=1.0 / parts, delta=1e-6)
    reader = from_connection(frame, privacy=privacy, metadata={"": {"dbo": {"t": table}}}, engine="pandas")
    if job == "D":
        rows = reader.execute(f"SELECT {selected} FROM dbo.t")
        return {"": {"people": float(rows[1][0])}}
    rows = reader.execute(f"SELECT {key}, {selected} FROM dbo.t GROUP BY {key}")
    return {row[0]: dict(zip(names, map(float, row[1:]), strict=True)) for row in rows[1:]}


def pipelinedp(job: str, case: Case) -> Released:
    import pipeline_dp
    import pyarrow.parquet as pq

    key = "category" if job == "B" else "region"
    table = pq.read_table(case["path"], columns=["person_id", key, "amount"])
    rows = list(zip(*(table[name].to_pylist() for name in ("person_id", key, "amount")), strict=True))
    del table
    metrics = pipeline_dp.Metrics
    asked = {
        "A": [metrics.COUNT, metrics.SUM, metrics.MEAN],
        "B": [metrics.COUNT, metrics.SUM, metrics.MEAN],
        "C": [metrics.PERCENTILE(50)],
    }.get(job, [metrics.PRIVACY_ID_COUNT])
    limits = {"min_value": 0, "max_value": 1000} if job in "ABC" else {}
    parameters = pipeline_dp.AggregateParams(
        metrics=asked,
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1 if job == "D" else 5,
        max_contributions_per_partition=1 if job == "D" else 2,
        **limits,
    )
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=(lambda _: "") if job == "D" else (lambda row: row[1]),
        value_extractor=lambda row: row[2],
    )
    public = {"B": None, "D": [""]}.get(job, case["regions"])
    released = engine.aggregate(rows, parameters, extractors, public_partitions=public)
    accountant.compute_budgets()
    names = {"count": "count", "sum": "sum", "mean": "avg", "percentile_50": "median", "privacy_id_count": "people"}
    return {
        name: {names[field]: float(getattr(values, field)) for field in values._fields if field in names}
        for name, values in released
    }


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


PEERS: dict[str, Callable[[str, Case], Released]] = {
    "opendp": opendp,
    "smartnoise": smartnoise,
    "pipelinedp": pipelinedp,
}


def main() -> None:
    peer, job = sys.argv[1:]
    case = json.load(sys.stdin)
    if job == "noise":
        print(json.dumps(opendp_noise(case)))
        return
    PEERS[peer](job, {**case, **case["small"]})
    before, wall = cpu(), time.perf_counter()
    released = PEERS[peer](job, case)
    used, seconds = cpu() - before, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([used, seconds, peak, released]))


if __name__ == "__main__":
    main()
