"""What anonypy, pycanon and anonymeter make of a case of bench/anonymize.py or bench/attacks.py: JSON in and out."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pandas as pd


def pycanon(case: dict[str, Any]) -> dict[str, Any]:
    from pycanon import anonymity

    table, seconds, found = pd.read_csv(case["table"], dtype=str), [], []
    for check in (anonymity.k_anonymity, anonymity.l_diversity, anonymity.t_closeness):
        begun = time.process_time()
        more = [] if check is anonymity.k_anonymity else [[case["sensitive"]]]
        found.append(float(check(table, case["quasi"], *more)))
        seconds.append(time.process_time() - begun)
    return {"seconds": seconds, "found": found}


def anonypy(case: dict[str, Any]) -> dict[str, Any]:
    from anonypy.mondrian import Mondrian

    table, quasi = pd.read_csv(case["table"]), case["quasi"]
    for name in [*quasi, case["sensitive"]]:
        if table[name].dtype == object:
            table[name] = table[name].astype("category")
    begun = time.process_time()
    parts = Mondrian(table, quasi, case["sensitive"]).partition(case["k"])
    seconds = time.process_time() - begun
    lost = 0.0
    for part in parts:
        rows = table.loc[part]
        for name in quasi:
            if table[name].dtype.name == "category":
                lost += len(rows) * (rows[name].nunique() - 1) / (table[name].nunique() - 1)
            else:
                lost += len(rows) * (rows[name].max() - rows[name].min()) / (table[name].max() - table[name].min())
    return {"seconds": [seconds], "ncp": lost / len(table) / len(quasi)}


def anonymeter(case: dict[str, Any]) -> dict[str, Any]:
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    original, synthetic, control = (pd.read_csv(case[name]) for name in ("original", "synthetic", "control"))
    begun, results = time.process_time(), {}
    names = list(original.columns)
    evaluators = {
        "singling out": SinglingOutEvaluator(original, synthetic, n_attacks=case["guesses"], control=control, n_cols=4),
        "linkability": LinkabilityEvaluator(
            original, synthetic, control=control, n_attacks=case["targets"], n_neighbors=1,
            aux_cols=(names[::2], names[1::2]),
        ),
        "inference": InferenceEvaluator(
            original, synthetic, control=control, n_attacks=case["targets"], secret=case["secret"],
            aux_cols=[name for name in names if name != case["secret"]],
        ),
    }  # fmt: skip
    for name, each in evaluators.items():
        each.evaluate(**({"mode": "multivariate"} if name == "singling out" else {"n_jobs": 1}))
        rates = each.results()
        results[name] = [rates.attack_rate.value, rates.control_rate.value]
    return {"seconds": time.process_time() - begun, "rates": results}


if __name__ == "__main__":
    _case = json.load(sys.stdin)
    print(json.dumps({"pycanon": pycanon, "anonypy": anonypy, "anonymeter": anonymeter}[_case["peer"]](_case)))
