"""The statistical tables whose files are stored: publications, histograms of each strategy, marginals of both forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet import census

BUDGET = dp.approx(100, "1/10")
POLICY: dict[str, Any] = {
    "version": "2026-11",
    "budget": {"epsilon": 100, "delta": "1/10"},
    "tables": {
        "people": {
            "unit": "person",
            "max_rows": 1,
            "columns": {
                "person": {"type": "int"},
                "block": {"type": "string", "keys": ["a1", "a2", "b1", "b2"], "nullable": False},
                "sex": {"type": "string", "keys": ["f", "m"], "nullable": False},
                "age": {"type": "int", "bounds": [0, 89], "nullable": False},
                "income": {"type": "int", "bounds": [1, 512], "nullable": False},
            },
        },
    },
}
AREAS = pa.table({"state": ["a", "a", "b", "b"], "block": ["a1", "a2", "b1", "b2"]})
RANGES = ((1, 40), (20, 50), (41, 512))
GAUSSIAN, PURE = dp.approx(2, "1/1000"), dp.pure(2)


def tables() -> dict[str, pa.Table]:
    """The private table."""
    numbers = range(800)
    return {
        "people": pa.table({
            "person": list(numbers),
            "block": [("a1", "a2", "b1", "b1")[i % 4] for i in numbers],
            "sex": ["fm"[i % 3 == 0] for i in numbers],
            "age": [i * i % 90 for i in numbers],
            "income": [1 if i % 8 else 1 + i % 500 for i in numbers],
        })
    }  # fmt: skip


def spec() -> census.Spec:
    """Three levels, two tables."""
    return census.Spec(
        table="people",
        geography=census.Geography.of_areas(AREAS, ["state", "block"], root="country"),
        tables={"total": (), "age_sex": ("age", "sex")},
        shares={"country": 1, "state": 1, "block": 2},
        cells={"age": [18, 65]},
    )


def asked() -> dict[str, Callable[[dp.Session], Any]]:
    """Each release, by the name of its file."""

    def histogram(spend: dp.Loss, **more: Any) -> Callable[[dp.Session], census.Histogram]:
        return lambda session: census.histogram(session, "income", cells=512, spend=spend, **more)

    def marginals(spend: dp.Loss) -> Callable[[dp.Session], census.MarginalTables]:
        columns = ["block", "sex", "age"]
        return lambda session: census.marginals(session, "people", spend, ways=2, columns=columns, cells={"age": 5})

    return {
        "publication": lambda session: census.publish(session, spec(), GAUSSIAN),
        "publication-pure": lambda session: census.publish(session, spec(), PURE),
        "histogram": histogram(GAUSSIAN, workload=RANGES),
        "histogram-pure": histogram(PURE, workload="prefixes"),
        "histogram-aware": histogram(dp.pure("1/2"), data_aware=True),
        "histogram-spread": histogram(dp.pure(20), data_aware=True),
        "marginals": marginals(GAUSSIAN),
        "marginals-pure": marginals(PURE),
    }


def seen(release: Any) -> Any:
    """What anyone sees of a release, as JSON."""
    if isinstance(release, census.Publication):
        rows = [release.table("age_sex", level="block").to_pylist(), release.cells()]
        total = release.total(areas=["a1", "b"], where="age < 18")
        rows.append([total.value, total.unbiased, *total.interval(0.9)])
    elif isinstance(release, census.Histogram):
        counts = [release.range(1, 40), release.range(41, 512)]
        rows = [release.table().to_pylist()[:20], list(release.values)]
        rows += [[each.value, each.unbiased, *each.interval(0.9)] for each in counts]
    else:
        tables = [release.table("sex", "block", fit=False), release.table("age", fit=False)]
        rows = [[{"value": row.pop("unbiased"), **row} for row in table.to_pylist()] for table in tables]
    return json.loads(
        json.dumps({"digest": release.digest(), "certificate": dict(release.certificate), "rows": rows}, default=str)
    )
