"""Which documents there are of schemes for two servers."""

from __future__ import annotations

from collections.abc import Callable

from discreet.local._two_server_kinds import TwoServerCount, TwoServerHistogram, TwoServerSum
from discreet.local._two_server_vectors import TwoServerSets, TwoServerSums
from discreet.local._two_servers import TwoServers

__all__ = ["KINDS"]

_ALL = (TwoServerCount, TwoServerHistogram, TwoServerSets, TwoServerSum, TwoServerSums)

KINDS: dict[str, Callable[..., TwoServers]] = {kind.protocol: kind for kind in _ALL}
"""Each kind by its name in JSON."""
