"""Private learning: estimators and training whose loss is charged to the ledger before anything is drawn.

A model is a release as any other: `Fit` is a question that `discreet.Session.answer` takes, and estimators ask it where
they are fitted on the records of a session. Models in files need neither scikit-learn nor the ledger.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import discreet.learn.preparing  # noqa: F401  # pyright: ignore[reportUnusedImport] - models in files may have its algorithms
from discreet.learn._fit import Fit
from discreet.learn._kind import KIND
from discreet.learn._model import Model, load
from discreet.learn.evaluation import (
    AccuracyByEpsilon,
    Evaluate,
    Evaluation,
    PublicRows,
    accuracy_by_epsilon,
    evaluate,
)

if TYPE_CHECKING:
    from discreet.learn import features
    from discreet.learn.estimators import (
        PCA,
        AdditiveModel,
        DecisionTree,
        KMeans,
        LogisticRegression,
        NaiveBayes,
        RandomForest,
        Ridge,
        Search,
    )
    from discreet.learn.gradients import Adaptive, Dropout
    from discreet.learn.pipelines import (
        Binner,
        ColumnTransformer,
        Imputer,
        MinMaxScaler,
        OneHotEncoder,
        OrdinalEncoder,
        Pipeline,
        StandardScaler,
    )
    from discreet.learn.training import (
        Batch,
        DPAdam,
        Network,
        NoisyCount,
        Private,
        Processes,
        Tensors,
        Trainer,
        TrainingPlan,
        Worker,
        resume,
    )

__all__ = [
    "KIND",
    "PCA",
    "AccuracyByEpsilon",
    "Adaptive",
    "AdditiveModel",
    "Batch",
    "Binner",
    "ColumnTransformer",
    "DPAdam",
    "DecisionTree",
    "Dropout",
    "Evaluate",
    "Evaluation",
    "Fit",
    "Imputer",
    "KMeans",
    "LogisticRegression",
    "MinMaxScaler",
    "Model",
    "NaiveBayes",
    "Network",
    "NoisyCount",
    "OneHotEncoder",
    "OrdinalEncoder",
    "Pipeline",
    "Private",
    "Processes",
    "PublicRows",
    "RandomForest",
    "Ridge",
    "Search",
    "StandardScaler",
    "Tensors",
    "Trainer",
    "TrainingPlan",
    "Worker",
    "accuracy_by_epsilon",
    "evaluate",
    "features",
    "load",
    "resume",
]

_LAZY = {
    "discreet.learn.estimators": (
        *("AdditiveModel", "DecisionTree", "KMeans", "LogisticRegression", "NaiveBayes", "PCA", "RandomForest"),
        *("Ridge", "Search"),
    ),
    "discreet.learn.gradients": ("Adaptive", "Dropout"),
    "discreet.learn.pipelines": (
        *("Binner", "ColumnTransformer", "Imputer", "MinMaxScaler", "OneHotEncoder", "OrdinalEncoder", "Pipeline"),
        "StandardScaler",
    ),
    "discreet.learn.training": (
        *("Batch", "DPAdam", "Network", "NoisyCount", "Private", "Processes", "Tensors", "Trainer", "TrainingPlan"),
        *("Worker", "resume"),
    ),
}


def __getattr__(name: str) -> Any:
    """What is imported when it is asked for. Raises `MissingExtra` without the extra that it needs."""
    if name == "features":
        return import_module("discreet.learn.features")
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'discreet.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
