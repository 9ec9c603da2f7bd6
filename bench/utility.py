"""How useful the answers of the engine's jobs are: the noise of a sum as tables grow, and private keys found.

    python bench/utility.py [--runs 5] [--rows 1000000]

Peers are asked in the environments that `python bench/engine.py --install-peers` makes. Noise and bias are apart: the
noise of a sum is the mean over the released keys of |answer − what the caps leave| / what the caps leave, in
expectation over the rows that are kept; the bias is the mean over all keys of 1 − what the caps leave / the whole.
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

import duckdb

import discreet as dp
from data import REGIONS, purchases
from engine import PEERS, of_peer
from peering import HERE, asked, python_of

SIZES = (1_000_000, 10_000_000)
SAME = 1.02
KEYS, NOISE = 199, 0.25
SUM = "SELECT region, COUNT(*) AS n, SUM(amount) AS s FROM t GROUP BY region"
PRIVATE = "SELECT category, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM t GROUP BY category"
CAPS = {"discreet": "rows", "opendp": "groups", "smartnoise": "rows", "pipelinedp": "groups"}
"""Ten rows of a person, or two rows in each of five groups: what each takes."""


def session(path: str) -> dp.Session:
    columns = {
        "region": {"type": "string", "keys": REGIONS},
        "category": {"type": "string"},
        "amount": {"type": "float", "bounds": [0, 1000], "nullable": False},
    }
    table = {"unit": "person_id", "max_rows": 10, "columns": columns}
    return dp.connect({"t": path}, {"version": "1", "budget": {"epsilon": 1, "delta": 1e-6}, "tables": {"t": table}})


def noise_of_a_sum() -> None:
    """The half-width of 95 % of a region's sum, next to its count, at ε = 1."""
    print("95 % of the noise of SUM(amount) by region lies within, beside COUNT(*), ε = 1, at most 10 rows a person\n")
    ours: list[float] = []
    for rows in SIZES:
        with session(str(purchases(rows, rows // 10))) as open_session:
            ours.append(open_session.plan(SUM, spend=dp.pure(1)).error("s") or math.nan)
    told("discreet", ours, SAME)
    if python_of("opendp").exists():
        command = [str(python_of("opendp")), str(HERE / "peers" / "engine_peers.py"), "opendp", "noise"]
        cases = [{"path": str(purchases(rows, rows // 10)), "rows": rows, "regions": REGIONS} for rows in SIZES]
        told("opendp", [math.log(20) * float(asked(command, case, 100) or math.nan) for case in cases])


def told(who: str, found: list[float], most: float | None = None) -> None:
    verdict = "" if most is None else f"; wanted {most:g} at most" + ("" if found[1] <= most * found[0] else ": MISSED")
    sizes = ", ".join(f"{half:,.0f} at {rows // 10**6} M rows" for half, rows in zip(found, SIZES, strict=True))
    print(f"  {who:<12}{sizes}: {found[1] / found[0]:.2f}×{verdict}", flush=True)


def expected(path: str) -> dict[str, dict[str, float]]:
    """By key the whole sum, and what is left of it in expectation under either cap."""
    rows = duckdb.connect().execute(
        f"""WITH people AS (SELECT person_id, count(*) AS n, count(DISTINCT category) AS g FROM '{path}' GROUP BY ALL),
        groups AS (SELECT person_id, category, count(*) AS m, sum(amount) AS s FROM '{path}' GROUP BY ALL)
        SELECT category, sum(s), sum(s * least(1, 10 / n)), sum(s * least(1, 5 / g) * least(1, 2 / m))
        FROM groups JOIN people USING (person_id) GROUP BY ALL"""
    )
    return {key: dict(zip(("whole", "rows", "groups"), sums, strict=True)) for key, *sums in rows.fetchall()}


def released(who: str, path: str, rows: int) -> dict[str, float] | None:
    if who != "discreet":
        found: Any = of_peer(who, "B", rows)
        return None if found is None else {key: row["sum"] for key, row in found[3].items()}
    with session(path) as open_session:
        answer = open_session.sql(PRIVATE, spend=dp.approx(1, 1e-6)).to_pandas()
    return dict(zip(answer["category"], answer["s"], strict=True))


def private_keys(rows: int, runs: int) -> None:
    path = str(purchases(rows, rows // 10))
    truth = expected(path)
    print(f"\nCOUNT, SUM and AVG by {len(truth)} private categories of {rows:,} rows, ε = 1, δ = 1e-6\n")
    print(f"  {'':<12}{'keys found':>12}{'noise of sums':>15}{'bias of caps':>14}")
    for who, caps in CAPS.items():
        if who in PEERS and not python_of(who).exists():
            continue
        found = [each for _ in range(runs if who == "discreet" else 1) if (each := released(who, path, rows))]
        if not found:
            print(f"  {who:<12}failed, or found none")
            continue
        keys = statistics.median(len(answer) for answer in found)
        noise = statistics.median(
            statistics.mean(abs(answer[key] - truth[key][caps]) / truth[key][caps] for key in answer if key in truth)
            for answer in found
        )
        bias = statistics.mean(1 - each[caps] / each["whole"] for each in truth.values())
        goal = ""
        if who == "discreet":
            met = keys >= KEYS and noise <= NOISE
            goal = f"   wanted {KEYS} at least, {NOISE} at most" + ("" if met else ": MISSED")
        print(f"  {who:<12}{keys:>12g}{noise:>15.3f}{bias:>14.3f}{goal}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    noise_of_a_sum()
    private_keys(options.rows, options.runs)


if __name__ == "__main__":
    main()
