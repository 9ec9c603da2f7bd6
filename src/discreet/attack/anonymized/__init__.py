"""Attacks on tables of classes of rows that look alike."""

from __future__ import annotations

from discreet.attack.anonymized._downcoding import downcoding
from discreet.attack.anonymized._homogeneity import homogeneity
from discreet.attack.anonymized._intersection import intersection
from discreet.attack.anonymized._minimality import minimality

__all__ = ["downcoding", "homogeneity", "intersection", "minimality"]
