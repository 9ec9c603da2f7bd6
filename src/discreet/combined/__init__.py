"""SQL over releases: a query whose sub-queries are releases is answered by SQL over what they release.

The releases share one charge; the rest is post-processing, and costs nothing. Proof: ``proofs/combined.md``.
"""

from discreet.combined._plan import CombinedPlan
from discreet.combined._question import PreparedCombined, Statement, plan_statement, plan_under
from discreet.combined._release import CombinedRelease

__all__ = ["CombinedPlan", "CombinedRelease", "PreparedCombined", "Statement", "plan_statement", "plan_under"]
