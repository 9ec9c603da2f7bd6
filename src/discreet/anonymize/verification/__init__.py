"""The verifier: what a table satisfies, read off its cells alone. It shares no code with the algorithms."""

from __future__ import annotations

from discreet.anonymize.verification._verify import Spread, Verdict, verify

__all__ = ["Spread", "Verdict", "verify"]
