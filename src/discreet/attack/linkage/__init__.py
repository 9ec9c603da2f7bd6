"""Linkage: names come back by what a release shares with what is known otherwise."""

from __future__ import annotations

from discreet.attack.linkage._cells import compatible, is_generalised
from discreet.attack.linkage._histories import histories
from discreet.attack.linkage._register import linkage

__all__ = ["compatible", "histories", "is_generalised", "linkage"]
