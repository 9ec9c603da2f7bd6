"""All algorithms by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.learn.algorithms._additive import AdditiveAlgorithm
from discreet.learn.algorithms._algorithm import Algorithm
from discreet.learn.algorithms._forest import RandomForestAlgorithm
from discreet.learn.algorithms._k_means import KMeansAlgorithm
from discreet.learn.algorithms._logistic import LogisticAlgorithm
from discreet.learn.algorithms._naive_bayes import NaiveBayesAlgorithm
from discreet.learn.algorithms._pca import PcaAlgorithm
from discreet.learn.algorithms._ridge import RidgeAlgorithm
from discreet.learn.algorithms._tree import DecisionTreeAlgorithm

__all__ = ["ALGORITHMS", "algorithm_from_json", "enlist", "enlist_map"]

_ALL: tuple[type[Algorithm], ...] = (
    AdditiveAlgorithm,
    DecisionTreeAlgorithm,
    KMeansAlgorithm,
    LogisticAlgorithm,
    NaiveBayesAlgorithm,
    PcaAlgorithm,
    RandomForestAlgorithm,
    RidgeAlgorithm,
)
ALGORITHMS: dict[str, type[Algorithm]] = {each.name: each for each in _ALL}


def enlist(kind: type[Algorithm]) -> None:
    """Make one known that is built of the others."""
    ALGORITHMS[kind.name] = kind


_MAPS: dict[str, type[Algorithm]] = {}
"""Public maps of rows, which are parts of others and never fitted by themselves."""


def enlist_map(kind: type[Algorithm]) -> None:
    """Make one known that asks nothing of rows, so that it is no model by itself."""
    _MAPS[kind.name] = kind


def algorithm_from_json(data: Mapping[str, Any]) -> Algorithm:
    """An algorithm with its parameters, from JSON that is not trusted. Raises `ValueError` for what is none."""
    name = data["name"]
    kind = (ALGORITHMS.get(name) or _MAPS.get(name)) if isinstance(name, str) else None
    if kind is None:
        raise ValueError
    return kind.from_json(data)
