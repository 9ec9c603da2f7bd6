"""What private forests, trees, naive Bayes and additive models reach at three spends.

    python bench/estimators_trees.py [--no-peers] [--adult FOLDER] [--repeats N]

Defaults everywhere, δ = 1e-6 and pure ε, bounds public (each column's ends). On digits and breast_cancer 20 splits into
four fifths to fit on and one fifth; diffprivlib's forest beside ours, at pure ε, where bench/estimators.py
--install-peers has installed it. On Adult the two files of UCI, `adult_raw.data` to fit on and `adult_raw.test`, in
FOLDER: all 14 columns, numbers in equal bins between their ends; accuracy, and the area under the curve. CPU seconds
are of one fit; set OMP_NUM_THREADS=1 for one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet import learn
from discreet.learn._examples import Examples
from discreet.learn._fit import fit_examples
from discreet.learn._inputs import Input, Inputs
from discreet.learn.algorithms import (
    AdditiveAlgorithm,
    DecisionTreeAlgorithm,
    NaiveBayesAlgorithm,
    RandomForestAlgorithm,
)
from peering import HERE, asked, python_of

EPSILONS = (0.5, 1, 3)
DELTA = "1e-6"
SPLITS = 20
PEERS = "estimators"
PEER_SECONDS = 900
NUMBERS = (0, 2, 4, 10, 11, 12)
FOREST_GOALS = (0.62, 0.78, 0.87)
ADULT_GOALS = ((0.850, 0.900), (0.853, 0.905), (0.856, 0.908))
ESTIMATORS: tuple[Any, ...] = (learn.RandomForest, learn.DecisionTree, learn.NaiveBayes, learn.AdditiveModel)

Case = dict[str, Any]


def spends() -> Iterator[tuple[float, dp.Loss]]:
    for epsilon in EPSILONS:
        yield epsilon, dp.approx(str(epsilon), DELTA)
    for epsilon in EPSILONS:
        yield epsilon, dp.pure(str(epsilon))


def cases(data: Any) -> list[Case]:
    X, y = data(return_X_y=True)  # noqa: N806
    ends = {
        "lower": X.min(axis=0).tolist(),
        "upper": X.max(axis=0).tolist(),
        "classes": sorted({int(each) for each in y}),
    }
    splits: list[Case] = []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        splits.append({**ends, "X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]})
    return splits


def accuracy(estimator: Any, case: Case, spend: dp.Loss) -> float:
    bounds = list(zip(case["lower"], case["upper"], strict=True))
    fitted = estimator(spend, bounds=bounds, classes=case["classes"]).fit(case["X"], case["y"])
    return float((fitted.predict(case["X_test"]) == case["y_test"]).mean())


def of_peer(splits: list[Case], epsilon: float) -> str:
    plain = [
        {**case, "epsilon": epsilon, **{name: case[name].tolist() for name in ("X", "y", "X_test", "y_test")}}
        for case in splits
    ]
    command = [str(python_of(PEERS)), str(HERE / "peers" / "estimators_peers.py"), "diffprivlib", "forest"]
    answer: Any = asked(command, plain, PEER_SECONDS)  # type: ignore[arg-type]
    return "failed" if answer is None else f"{np.mean(answer['scores']):.3f}, {answer['seconds']:.2f} s"


def small(repeats: int, *, peers: bool) -> None:
    for name, data in (("digits", datasets.load_digits), ("breast_cancer", datasets.load_breast_cancer)):
        splits = cases(data)
        for estimator in ESTIMATORS:
            for epsilon, spend in spends():
                is_pure = spend == dp.pure(str(epsilon))
                if is_pure and estimator is learn.AdditiveModel:
                    continue
                start = time.process_time()
                scores = np.array([accuracy(estimator, each, spend) for each in splits for _ in range(repeats)])
                seconds = (time.process_time() - start) / len(scores)
                goal = ""
                if name == "digits" and estimator is learn.RandomForest and not is_pure:
                    least = FOREST_GOALS[EPSILONS.index(epsilon)]
                    goal = f"≥ {least}{'' if scores.mean() >= least else ' MISSED'}"
                beside = of_peer(splits, epsilon) if peers and is_pure and estimator is learn.RandomForest else ""
                error = scores.std(ddof=1) / np.sqrt(len(scores))
                title = f"{estimator.__name__}, {name}"
                shown = f"{scores.mean():>7.4f} ± {error:.4f}"
                print(f"{title:<28}{spend!s:<20}{shown}  {goal:<12}{seconds:>7.3f} s  {beside}")


def adult(folder: Path) -> tuple[Examples, Examples]:
    rows, ends = [], []
    for file in ("adult_raw.data", "adult_raw.test"):
        lines = (folder / file).read_text().splitlines()
        rows += [
            row for row in ([each.strip().rstrip(".") for each in line.split(",")] for line in lines) if len(row) == 15
        ]
        ends.append(len(rows))
    numbers, cells, features = [], [], []
    for i in range(14):
        column = [row[i] for row in rows]
        if i in NUMBERS:
            values = np.array(column, float)
            feature = Input(f"x{i}", None, Fraction(values.min()), Fraction(values.max()))
            numbers.append(feature.levels(values))
        else:
            feature = Input(f"x{i}", tuple(sorted(set(column))), type="string")
            cells.append(feature.cells(column))
        features.append(feature)
    target = Input("y", ("<=50K", ">50K"), type="string")
    inputs, labels = Inputs(tuple(features), target), target.cells([row[14] for row in rows])
    every = np.stack(numbers, axis=1), np.stack(cells, axis=1), labels
    fitted, tested = ([part[some] for part in every] for some in (slice(ends[0]), slice(ends[0], None)))
    return Examples(inputs, *fitted), Examples(inputs, *tested)


def large(folder: Path, repeats: int) -> None:
    train, test = adult(folder)
    for algorithm in (AdditiveAlgorithm(), RandomForestAlgorithm(), DecisionTreeAlgorithm(), NaiveBayesAlgorithm()):
        for epsilon, spend in spends():
            is_pure = spend == dp.pure(str(epsilon))
            if is_pure and isinstance(algorithm, AdditiveAlgorithm):
                continue
            start, scores = time.process_time(), []
            for _ in range(repeats):
                model = fit_examples(train, algorithm, spend)
                chances = algorithm.outputs(model.inputs, model.parameters, test.numbers, test.cells)
                right = (chances.argmax(axis=1) == test.target).mean()
                scores.append((float(right), float(roc_auc_score(test.target, chances[:, 1]))))
            seconds = (time.process_time() - start) / repeats
            goal = ""
            means, errors = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / np.sqrt(repeats)
            if isinstance(algorithm, AdditiveAlgorithm):
                least = ADULT_GOALS[EPSILONS.index(epsilon)]
                goal = f"≥ {least}{'' if (means >= least).all() else ' MISSED'}"
            shown = f"{means[0]:.4f} ± {errors[0]:.4f}, {means[1]:.4f} ± {errors[1]:.4f}"
            print(f"{algorithm.name + ', Adult':<28}{spend!s:<20}{shown}  {goal:<18}{seconds:>7.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    if options.adult is not None:
        large(options.adult, max(5, options.repeats))
    small(options.repeats, peers=python_of(PEERS).exists() and not options.no_peers)


if __name__ == "__main__":
    main()
