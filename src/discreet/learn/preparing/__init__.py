"""Preparations: rows into rows that a model learns from, by public facts or by what a share of the spend buys."""

from discreet.learn.algorithms._registry import enlist, enlist_map
from discreet.learn.preparing._binner import BinnerAlgorithm
from discreet.learn.preparing._chain import ChainAlgorithm, PipelineAlgorithm, fitted_steps
from discreet.learn.preparing._columns import ColumnsAlgorithm
from discreet.learn.preparing._element import Element
from discreet.learn.preparing._encoder import EncoderAlgorithm
from discreet.learn.preparing._features import FeaturesAlgorithm, FrozenAlgorithm, networks_at_hand
from discreet.learn.preparing._imputer import ImputerAlgorithm
from discreet.learn.preparing._oriented_gradients import GradientsAlgorithm
from discreet.learn.preparing._preparation import Preparation
from discreet.learn.preparing._scaler import ScalerAlgorithm

__all__ = [
    "BinnerAlgorithm",
    "ChainAlgorithm",
    "ColumnsAlgorithm",
    "Element",
    "EncoderAlgorithm",
    "FeaturesAlgorithm",
    "FrozenAlgorithm",
    "GradientsAlgorithm",
    "ImputerAlgorithm",
    "PipelineAlgorithm",
    "Preparation",
    "ScalerAlgorithm",
    "fitted_steps",
    "networks_at_hand",
]

for _each in (
    *(BinnerAlgorithm, ChainAlgorithm, ColumnsAlgorithm, EncoderAlgorithm),
    *(ImputerAlgorithm, PipelineAlgorithm, ScalerAlgorithm),
):
    enlist(_each)
for _each in (FrozenAlgorithm, GradientsAlgorithm):
    enlist_map(_each)
