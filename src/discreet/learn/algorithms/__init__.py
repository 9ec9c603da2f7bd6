"""Algorithms that learn from noisy sums alone; each says how much one row adds to each of them."""

from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._naive_bayes import NaiveBayesAlgorithm
from discreet.learn.algorithms._registry import ALGORITHMS, algorithm_from_json

__all__ = ["ALGORITHMS", "Algorithm", "NaiveBayesAlgorithm", "Parameters", "Task", "algorithm_from_json"]
