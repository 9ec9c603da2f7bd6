"""Reconstruction: rows come back from many answers about them, and from tables of counts."""

from __future__ import annotations

from discreet.attack.reconstruction._asking import Asks, asker, reconstruction
from discreet.attack.reconstruction._microdata import Microdata, microdata
from discreet.attack.reconstruction._subsets import random_subsets, reconstruct, solve_bits
from discreet.attack.reconstruction._summaries import Statistic

__all__ = [
    "Asks",
    "Microdata",
    "Statistic",
    "asker",
    "microdata",
    "random_subsets",
    "reconstruct",
    "reconstruction",
    "solve_bits",
]
