"""Peer of bench/marginal_tables.py, in an environment of its own: fixed tables of opendp[mbi]. JSON in and out."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def fitted(case: dict[str, Any], codes: np.ndarray) -> Any:
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import Count, Fixed, make_contingency_table

    dp.enable_features("contrib", "honest-but-curious")
    names = [f"c{i}" for i in range(codes.shape[1])]
    frame = pl.DataFrame({name: codes[:, i].astype(np.int64) for i, name in enumerate(names)}).lazy()
    domain = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T="i64")) for name in names])
    queries = [Count(by=tuple(names[i] for i in each)) for each in case["cliques"]]
    measurement, *_ = make_contingency_table(
        domain,
        dp.frame_distance(dp.symmetric_distance()),
        dp.zero_concentrated_divergence(),
        d_in=[dp.polars.Bound(per_group=1)],
        d_out=case["rho"],
        keys={name: list(range(size)) for name, size in zip(names, case["sizes"], strict=True)},
        algorithm=Fixed(queries=queries),
    )
    return measurement(frame)


def main() -> None:
    case = json.load(sys.stdin)
    codes, sizes = np.load(case["codes"]), case["sizes"]
    seconds = []
    for run in range(case["runs"]):
        before = time.process_time()
        table = fitted(case, codes)
        arrays: dict[str, np.ndarray] = {}
        for i, clique in enumerate(case["cliques"]):
            names = tuple(f"c{column}" for column in clique)
            shown = tuple(slice(0, sizes[column]) for column in clique)  # it adds a cell of nulls to every column
            arrays[f"model{i}"] = np.asarray(table.project(names))[shown]
            measured = next(each for key, each in table.marginals.items() if set(key) == set(names))
            shape = [sizes[int(name[1:])] + 1 for name in measured.clique]
            order = [measured.clique.index(name) for name in names]
            arrays[f"raw{i}"] = np.asarray(measured.noisy_measurement).reshape(shape).transpose(order)[shown]
        seconds.append(time.process_time() - before)
        np.savez(f"{case['out']}{run}.npz", **arrays)
    print(json.dumps({"seconds": seconds}))


main()
