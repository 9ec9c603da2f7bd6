"""Algorithms that learn from noisy sums alone; each says how much one row adds to each of them."""

from discreet.learn.algorithms._additive import AdditiveAlgorithm
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._forest import RandomForestAlgorithm
from discreet.learn.algorithms._naive_bayes import NaiveBayesAlgorithm
from discreet.learn.algorithms._registry import ALGORITHMS, algorithm_from_json
from discreet.learn.algorithms._tree import DecisionTreeAlgorithm

__all__ = [
    "ALGORITHMS",
    "AdditiveAlgorithm",
    "Algorithm",
    "DecisionTreeAlgorithm",
    "NaiveBayesAlgorithm",
    "Parameters",
    "RandomForestAlgorithm",
    "Task",
    "algorithm_from_json",
]
