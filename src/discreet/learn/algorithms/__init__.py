"""Algorithms that learn from noisy sums alone; each says how much one row adds to each of them."""

from discreet.learn.algorithms._additive import AdditiveAlgorithm
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._bins import Bins
from discreet.learn.algorithms._forest import RandomForestAlgorithm
from discreet.learn.algorithms._k_means import KMeansAlgorithm
from discreet.learn.algorithms._logistic import LogisticAlgorithm
from discreet.learn.algorithms._naive_bayes import NaiveBayesAlgorithm
from discreet.learn.algorithms._pca import PcaAlgorithm
from discreet.learn.algorithms._registry import ALGORITHMS, algorithm_from_json
from discreet.learn.algorithms._ridge import RidgeAlgorithm
from discreet.learn.algorithms._search import MOST_CANDIDATES, SearchAlgorithm
from discreet.learn.algorithms._tree import DecisionTreeAlgorithm

__all__ = [
    "ALGORITHMS",
    "MOST_CANDIDATES",
    "AdditiveAlgorithm",
    "Algorithm",
    "Bins",
    "DecisionTreeAlgorithm",
    "KMeansAlgorithm",
    "LogisticAlgorithm",
    "NaiveBayesAlgorithm",
    "Parameters",
    "PcaAlgorithm",
    "RandomForestAlgorithm",
    "RidgeAlgorithm",
    "SearchAlgorithm",
    "Task",
    "algorithm_from_json",
]
