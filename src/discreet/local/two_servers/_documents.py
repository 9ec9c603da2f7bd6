"""Which documents there are of schemes for two servers."""

from __future__ import annotations

from collections.abc import Callable

from discreet.local.two_servers._base import TwoServers
from discreet.local.two_servers._schemes import (
    TwoServerCount,
    TwoServerHistogram,
    TwoServerSets,
    TwoServerSum,
    TwoServerSums,
)

__all__ = ["KINDS"]

_ALL = (TwoServerCount, TwoServerHistogram, TwoServerSets, TwoServerSum, TwoServerSums)

KINDS: dict[str, Callable[..., TwoServers]] = {kind.protocol: kind for kind in _ALL}
"""Each kind by its name in JSON."""
