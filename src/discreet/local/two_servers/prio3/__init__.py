"""Prio3 for two aggregators, as draft-irtf-cfrg-vdaf-20 has it: many reports at a time, in arrays.

A vector over a field is an array of uint64 whose last axis are the limbs of an element, least first. Rows of bytes are
arrays of uint8. The first axis of both are reports. Nothing here adds noise or states a loss:
`discreet.local.TwoServers` does; ``proofs/two_servers.md``.
"""

from discreet.local.two_servers.prio3._circuit import Circuit, Count, Histogram, MultihotCountVec, Sum, SumVec
from discreet.local.two_servers.prio3._prio3 import NONCE, Prio3, Sharded, Verified

__all__ = [
    "NONCE",
    "Circuit",
    "Count",
    "Histogram",
    "MultihotCountVec",
    "Prio3",
    "Sharded",
    "Sum",
    "SumVec",
    "Verified",
]
