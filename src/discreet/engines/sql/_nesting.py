"""How deeply SQL is nested: engines take longer for the same length the deeper it is, or do not read it at all."""

from __future__ import annotations

from itertools import accumulate

__all__ = ["is_deep"]

_DEEP = 40
"""What people write comes to some 20."""


def is_deep(sql: str) -> bool:
    """Whether more than 40 parentheses are within one another, those in texts among them.

    >>> is_deep("SELECT ((1))"), is_deep("(" * 50 + "1" + ")" * 50)
    (False, True)
    """
    return max(accumulate((sign == "(") - (sign == ")") for sign in sql if sign in "()"), default=0) > _DEEP
