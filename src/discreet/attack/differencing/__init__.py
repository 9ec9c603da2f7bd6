"""Differencing and averaging: what several answers tell together."""

from __future__ import annotations

from discreet.attack.differencing._differencing import averaging, differencing, tracker

__all__ = ["averaging", "differencing", "tracker"]
