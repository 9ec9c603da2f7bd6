"""Attacks on tables of classes of rows that look alike."""

from __future__ import annotations

from discreet.attack.anonymised._downcoding import downcoding
from discreet.attack.anonymised._homogeneity import homogeneity
from discreet.attack.anonymised._intersection import intersection

__all__ = ["downcoding", "homogeneity", "intersection"]
