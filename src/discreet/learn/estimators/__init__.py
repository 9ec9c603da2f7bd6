"""Estimators like scikit-learn's, which they need: ``pip install 'discreet[learn]'``."""

from __future__ import annotations

from discreet.errors import MissingExtra

try:
    import sklearn  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError:
    raise MissingExtra("estimators need scikit-learn; install it with: pip install 'discreet[learn]'") from None

from discreet.learn.estimators._additive import AdditiveModel
from discreet.learn.estimators._forest import RandomForest
from discreet.learn.estimators._k_means import KMeans
from discreet.learn.estimators._logistic import LogisticRegression
from discreet.learn.estimators._naive_bayes import NaiveBayes
from discreet.learn.estimators._pca import PCA
from discreet.learn.estimators._ridge import Ridge
from discreet.learn.estimators._search import Search
from discreet.learn.estimators._tree import DecisionTree

__all__ = [
    "PCA",
    "AdditiveModel",
    "DecisionTree",
    "KMeans",
    "LogisticRegression",
    "NaiveBayes",
    "RandomForest",
    "Ridge",
    "Search",
]
