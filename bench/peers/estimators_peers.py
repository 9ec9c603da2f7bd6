"""One score by diffprivlib, in its own environment: `python estimators_peers.py diffprivlib QUESTION`, JSON in and out.

The question is a task of bench/estimators.py; the case has the rows to fit on, those to score on, bounds and ε.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from diffprivlib import models

Case = dict[str, Any]


def corner(case: Case) -> float:
    return float(np.sqrt(np.sum(np.maximum(np.abs(case["lower"]), np.abs(case["upper"])) ** 2)))


def logistic(case: Case) -> float:
    fitted = models.LogisticRegression(epsilon=case["epsilon"], data_norm=corner(case), max_iter=1_000)
    fitted.fit(np.array(case["X"]), case["y"])
    return float((fitted.predict(np.array(case["X_test"])) == case["y_test"]).mean())


def ridge(case: Case) -> float:
    fitted = models.LinearRegression(
        epsilon=case["epsilon"], bounds_X=(case["lower"], case["upper"]), bounds_y=tuple(case["target_bounds"])
    )
    fitted.fit(np.array(case["X"]), np.array(case["y"]))
    return float(fitted.score(np.array(case["X_test"]), np.array(case["y_test"])))


def components(case: Case) -> float:
    fitted = models.PCA(
        8, epsilon=case["epsilon"], bounds=(np.array(case["lower"]), np.array(case["upper"])), data_norm=corner(case)
    )
    fitted.fit(np.array(case["X"]))
    away = np.array(case["X_test"]) - np.mean(case["X_test"], axis=0)
    directions, _ = np.linalg.qr(fitted.components_.T)
    return float(((away @ directions) ** 2).sum() / (away**2).sum())


def clusters(case: Case) -> float:
    fitted = models.KMeans(10, epsilon=case["epsilon"], bounds=(np.array(case["lower"]), np.array(case["upper"])))
    rows = np.array(case["X"])
    fitted.fit(rows)
    distances = ((rows[:, None] - fitted.cluster_centers_[None]) ** 2).sum(axis=2)
    return float(distances.min(axis=1).sum())


def forest(case: Case) -> float:
    ends = (np.array(case["lower"]), np.array(case["upper"]))
    fitted = models.RandomForestClassifier(epsilon=case["epsilon"], bounds=ends, classes=case["classes"])
    fitted.fit(np.array(case["X"]), np.array(case["y"]))
    return float((fitted.predict(np.array(case["X_test"])) == case["y_test"]).mean())


def main() -> None:
    warnings.simplefilter("ignore")
    tasks = {"logistic": logistic, "ridge": ridge, "components": components, "clusters": clusters, "forest": forest}
    task = tasks[sys.argv[2]]
    cases = json.load(sys.stdin)
    start = time.process_time()
    scores = [task(case) for case in cases]
    print(json.dumps({"scores": scores, "seconds": (time.process_time() - start) / len(scores)}))


main()
