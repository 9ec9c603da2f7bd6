"""Peers of bench/synth.py, in an environment of their own: a fit of a table of codes, or a score. JSON in and out."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from typing import Any

import numpy as np


def rho_within(epsilon: float, delta: float) -> float:
    """The ρ whose (ε, δ) by Rényi orders is as wanted, as peers convert it."""
    orders = 1 + np.logspace(-4, 4, 4000)

    def reached(rho: float) -> float:
        exponents = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        return float(np.min(np.exp(np.minimum(exponents, 700)) / (orders - 1)))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) <= delta else (low, middle)
    return low


def opendp_fit(case: dict[str, Any], codes: np.ndarray) -> np.ndarray:
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import AIM, MST, make_contingency_table

    dp.enable_features("contrib", "honest-but-curious")
    names = [f"c{i}" for i in range(codes.shape[1])]
    frame = pl.DataFrame({name: codes[:, i].astype(np.int64) for i, name in enumerate(names)}).lazy()
    domain = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T="i64")) for name in names])
    algorithm = AIM(max_size=case["size"]) if case["peer"] == "opendp AIM" else MST()
    measurement, *_ = make_contingency_table(
        domain,
        dp.frame_distance(dp.symmetric_distance()),
        dp.zero_concentrated_divergence(),
        d_in=[dp.polars.Bound(per_group=1)],
        d_out=rho_within(case["epsilon"], case["delta"]),
        keys={name: list(range(size)) for name, size in zip(names, case["sizes"], strict=True)},
        algorithm=algorithm,
    )
    rows = measurement(frame).synthesize().lazy().drop_nulls().collect()  # it adds a null to every column
    return np.column_stack([rows[name].to_numpy() for name in names])


def dpmm_fit(case: dict[str, Any], codes: np.ndarray) -> np.ndarray:
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    names = [f"c{i}" for i in range(codes.shape[1])]
    frame = pd.DataFrame(codes, columns=names)
    domain = dict(zip(names, case["sizes"], strict=True))
    if case["peer"] == "dpmm AIM":
        model = AIMGM(epsilon=case["epsilon"], delta=case["delta"], max_model_size=case["size"], domain=domain)
    else:
        model = MSTGM(epsilon=case["epsilon"], delta=case["delta"], domain=domain)
    model.fit(frame)
    return model.generate(len(frame))[names].to_numpy()


def auc(case: dict[str, Any], synthetic: np.ndarray) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    real, target = np.load(case["real"]), case["target"]
    columns = [i for i in range(real.shape[1]) if i != target]
    model = HistGradientBoostingClassifier(random_state=0).fit(synthetic[:, columns], synthetic[:, target])
    return float(roc_auc_score(real[:, target], model.predict_proba(real[:, columns])[:, 1]))


def main() -> None:
    case = json.load(sys.stdin)
    codes = np.load(case["codes"])
    if case["peer"] == "score":
        print(json.dumps({"auc": auc(case, codes)}))
        return
    fit = opendp_fit if case["peer"].startswith("opendp") else dpmm_fit
    before = time.process_time()
    rows = fit(case, codes)
    seconds = time.process_time() - before
    np.save(case["out"], rows)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "memory": math.ceil(memory)}))


main()
