"""Every case, of every kind."""

from __future__ import annotations

from suite.basics import BASICS
from suite.expressions import EXPRESSIONS
from suite.nested import NESTED
from suite.relations import RELATIONS
from suite.stats import STATISTICS

__all__ = ["CASES"]

CASES = (*BASICS, *EXPRESSIONS, *STATISTICS, *RELATIONS, *NESTED)
