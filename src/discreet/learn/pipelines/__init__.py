"""Transformers and pipelines like scikit-learn's, which they need: ``pip install 'discreet[learn]'``."""

from __future__ import annotations

from discreet.learn.pipelines._binner import Binner
from discreet.learn.pipelines._columns import ColumnTransformer
from discreet.learn.pipelines._encoders import OneHotEncoder, OrdinalEncoder
from discreet.learn.pipelines._imputer import Imputer
from discreet.learn.pipelines._pipeline import Pipeline
from discreet.learn.pipelines._scalers import MinMaxScaler, StandardScaler

__all__ = [
    "Binner",
    "ColumnTransformer",
    "Imputer",
    "MinMaxScaler",
    "OneHotEncoder",
    "OrdinalEncoder",
    "Pipeline",
    "StandardScaler",
]
