"""What searches over few and many settings reach, by paying for all and by a random number of tries.

    python bench/search.py [--splits N]

scikit-learn's digits and breast cancer, seven tenths to search on and accuracy on the rest; bounds and classes public.
Candidates are of four kinds (on pure ε another naive Bayes stands for the logistic regression), most of them poor
ones: the more there are, the less each is worth paying for. Seconds are of one search; set OMP_NUM_THREADS=1 for one
thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

import discreet as dp
from discreet import learn

SPENDS = {"(1, 1e-6)": dp.approx(1, "1e-6"), "pure 1": dp.pure(1)}
DATA = {"breast_cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}


def candidates(many: int) -> list[Any]:
    """2 to 4, 16 or 64 of them: the last three are those of a grid."""
    logistic, bayes, tree, forest = (
        *(learn.LogisticRegression, learn.NaiveBayes),
        *(learn.DecisionTree, learn.RandomForest),
    )
    match many:
        case 2:
            return [logistic(), forest()]
        case 3:
            return [logistic(), bayes(), forest()]
        case 4:
            return [logistic(), bayes(), tree(), forest()]
        case 16:
            trees = [tree(depth=depth, bins=8) for depth in (2, 4, 6)]
            forests = [forest(trees=count, bins=bins) for count in (4, 16, 64) for bins in (8, 32)]
            return [logistic(), *(bayes(bins=bins) for bins in (2, 4, 8, 16)), *trees, tree(), *forests, forest()]
        case _:
            trees = [tree(depth=depth, bins=bins) for depth in range(1, 7) for bins in (2, 4, 8, 16)]
            forests = [
                forest(trees=count, bins=bins) for count in (4, 8, 12, 16, 24, 32, 48, 64) for bins in (2, 4, 16)
            ]
            return [logistic(), *(bayes(bins=bins) for bins in range(2, 17)), *trees, *forests]


def searched(name: str, spend: dp.Loss, many: int, way: Any, splits: int) -> tuple[float, float, float]:
    """Mean accuracy, its standard error, and seconds."""
    x, y = DATA[name](return_X_y=True)
    bounds = [(float(low), float(max(high, low + 1))) for low, high in zip(x.min(0), x.max(0), strict=True)]
    allowed = [
        learn.NaiveBayes(bins=32) if spend == dp.pure(1) and isinstance(each, learn.LogisticRegression) else each
        for each in candidates(many)
    ]
    scores, start = [], time.perf_counter()
    for split in range(splits):
        fit_x, rest_x, fit_y, rest_y = train_test_split(x, y, test_size=0.3, random_state=split)
        search = learn.Search(allowed, spend=spend, way=way, bounds=bounds, classes=sorted(set(y.tolist())))
        scores.append(search.fit(fit_x, fit_y).score(rest_x, rest_y))
    return float(np.mean(scores)), float(np.std(scores) / splits**0.5), (time.perf_counter() - start) / splits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=6)
    splits = parser.parse_args().splits
    warnings.simplefilter("ignore")
    for words, spend in SPENDS.items():
        for name in DATA:
            for many in (2, 3, 4, 16, 64):
                for way in ("all", "random"):
                    mean, error, seconds = searched(name, spend, many, way, splits)
                    rule = learn.Search(candidates(many), spend=spend).plan().way
                    chosen = " <- the rule" if rule == way else ""
                    print(
                        f"{words} {name} {many:2} {way:6} {mean:.3f} ± {error:.3f} {seconds:.1f} s{chosen}", flush=True
                    )


if __name__ == "__main__":
    main()
