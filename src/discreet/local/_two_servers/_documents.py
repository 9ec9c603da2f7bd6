"""Which documents there are of schemes for two servers."""

from __future__ import annotations

from collections.abc import Callable

from discreet.local._two_servers._kinds import TwoServerCount, TwoServerHistogram, TwoServerSum
from discreet.local._two_servers._two_servers import TwoServers
from discreet.local._two_servers._vectors import TwoServerSets, TwoServerSums

__all__ = ["KINDS"]

_ALL = (TwoServerCount, TwoServerHistogram, TwoServerSets, TwoServerSum, TwoServerSums)

KINDS: dict[str, Callable[..., TwoServers]] = {kind.protocol: kind for kind in _ALL}
"""Each kind by its name in JSON."""
