"""What private estimators reach on scikit-learn's data at three spends, next to diffprivlib.

    python bench/estimators.py [--install-peers] [--no-peers] [--repeats N]

Defaults everywhere, δ = 1e-6 (diffprivlib: pure ε), bounds public for all (each column's ends), 20 splits into four
fifths to fit on and one fifth: accuracy and R² of that fifth, the share of all rows' variance, the inertia of the rows
fitted on over that of Lloyd's algorithm. CPU seconds are of one fit; set OMP_NUM_THREADS=1 for one thread. Peers run
in bench/.venvs/estimators where it exists.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans as Lloyd

import discreet as dp
from discreet import learn
from peering import HERE, asked, install, python_of

PEERS = "estimators"
EPSILONS = (0.5, 1, 3)
DELTA = "1e-6"
SPLITS = 20
PEER_SECONDS = 900

Case = dict[str, Any]


@dataclass(frozen=True)
class Task:
    name: str
    question: str
    data: Callable[..., Any]
    goals: tuple[float, float, float]
    score: Callable[[Case, Any], float]
    median: bool = False
    smaller: bool = False


def bounds(case: Case) -> list[tuple[float, float]]:
    return list(zip(case["lower"], case["upper"], strict=True))


def accuracy(case: Case, spend: Any) -> float:
    fitted = learn.LogisticRegression(spend, bounds=bounds(case), classes=case["classes"])
    fitted.fit(case["X"], case["y"])
    return float((fitted.predict(case["X_test"]) == case["y_test"]).mean())


def r_squared(case: Case, spend: Any) -> float:
    fitted = learn.Ridge(spend, bounds=bounds(case), target_bounds=case["target_bounds"]).fit(case["X"], case["y"])
    return float(fitted.score(case["X_test"], case["y_test"]))


def variance(case: Case, spend: Any) -> float:
    fitted = learn.PCA(spend, n_components=8, bounds=bounds(case)).fit(case["X"])
    away = case["X_test"] - case["X_test"].mean(axis=0)
    return float(((away @ fitted.components_.T) ** 2).sum() / (away**2).sum())


def inertia(case: Case, spend: Any) -> float:
    fitted = learn.KMeans(spend, n_clusters=10, bounds=bounds(case)).fit(case["X"])
    return float(((case["X"] - fitted.cluster_centers_[fitted.predict(case["X"])]) ** 2).sum() / case["lloyd"])


TASKS = (
    Task("logistic, breast_cancer", "logistic", datasets.load_breast_cancer, (0.94, 0.95, 0.96), accuracy),
    Task("logistic, digits", "logistic", datasets.load_digits, (0.84, 0.90, 0.93), accuracy),
    Task("ridge, diabetes, median R²", "ridge", datasets.load_diabetes, (0.33, 0.38, 0.42), r_squared, median=True),
    Task("8 components, digits", "components", datasets.load_digits, (0.35, 0.50, 0.62), variance),
    Task("10 clusters, digits", "clusters", datasets.load_digits, (1.8, 1.65, 1.4), inertia, smaller=True),
)


def cases(task: Task) -> Iterator[Case]:
    X, y = task.data(return_X_y=True)  # noqa: N806
    public = {
        "lower": X.min(axis=0).tolist(),
        "upper": X.max(axis=0).tolist(),
        "classes": [int(each) for each in np.unique(y)] if task.question == "logistic" else None,
        "target_bounds": (float(y.min()), float(y.max())),
    }
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        held_out = X if task.question == "components" else X[test]
        case = {**public, "X": X[train], "y": y[train], "X_test": held_out, "y_test": y[test]}
        if task.question == "clusters":
            case["lloyd"] = float(Lloyd(10, n_init=10, random_state=0).fit(X[train]).inertia_)
        yield case


def plain(case: Case, epsilon: float) -> Case:
    """A case as JSON."""
    arrays = {name: value.tolist() for name, value in case.items() if isinstance(value, np.ndarray)}
    return {**case, **arrays, "epsilon": epsilon}


def of_peer(task: Task, splits: list[Case], epsilon: float) -> str:
    command = [str(python_of(PEERS)), str(HERE / "peers" / "estimators_peers.py"), "diffprivlib", task.question]
    answer: Any = asked(command, [plain(each, epsilon) for each in splits], PEER_SECONDS)  # type: ignore[arg-type]
    if answer is None:
        return "failed"
    scores = np.array(answer["scores"])
    if task.question == "clusters":
        scores = scores / [each["lloyd"] for each in splits]
    return f"{np.median(scores) if task.median else scores.mean():.3g}, {answer['seconds']:.2f} s"


def measured(task: Task, splits: list[Case], epsilon: float, goal: float, repeats: int) -> str:
    spend = dp.approx(str(epsilon), DELTA)
    start = time.process_time()
    scores = np.array([[task.score(each, spend) for each in splits] for _ in range(repeats)])
    seconds = (time.process_time() - start) / scores.size
    value = float(np.mean(np.median(scores, axis=1))) if task.median else float(scores.mean())
    error = scores.std(ddof=1) / np.sqrt(scores.size) * (1.25 if task.median else 1)
    met = value <= goal if task.smaller else value >= goal
    wanted = f"{'≤' if task.smaller else '≥'} {goal:g}{'' if met else ' MISSED'}"
    return f"{task.name:<28}{epsilon:>5g}{value:>9.4f} ± {error:.4f}  {wanted:<16}{seconds:>7.3f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    if options.install_peers:
        install(PEERS, "estimators.txt")
    peers = python_of(PEERS).exists() and not options.no_peers
    print(f"{'task':<28}{'ε':>5}{'discreet':>9} ± standard error, wanted, CPU s{'   diffprivlib' if peers else ''}")
    for task in TASKS:
        splits = list(cases(task))
        for epsilon, goal in zip(EPSILONS, task.goals, strict=True):
            line = measured(task, splits, epsilon, goal, options.repeats)
            print(line, of_peer(task, splits, epsilon) if peers else "", sep="   ", flush=True)


if __name__ == "__main__":
    main()
