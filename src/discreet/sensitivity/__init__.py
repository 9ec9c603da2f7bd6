"""How far one unit can move an answer, in the worst case. Computes, never samples.

Proofs: ``proofs/sensitivity.md``.
"""

from discreet.sensitivity._aggregates import Norms, bounded_sum, count, keys_touched

__all__ = ["Norms", "bounded_sum", "count", "keys_touched"]
