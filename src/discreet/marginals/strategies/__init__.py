"""Strategies for histograms: what to measure so that ranges, prefixes or listed queries come out best."""

from discreet.marginals.strategies._factorization import COLUMN_NORM, Factorization, factorized, longest_column
from discreet.marginals.strategies._partition import MOST_BUCKETS, Buckets, Partition, partition_of
from discreet.marginals.strategies._tree_strategy import TreeStrategy, fitted_tree, near_integers, nested
from discreet.marginals.strategies._workload import Workload

__all__ = [
    "COLUMN_NORM",
    "MOST_BUCKETS",
    "Buckets",
    "Factorization",
    "Partition",
    "TreeStrategy",
    "Workload",
    "factorized",
    "fitted_tree",
    "longest_column",
    "near_integers",
    "nested",
    "partition_of",
]
