"""One example of each scheme: the page, the audit and the tests of all schemes iterate over them."""

from __future__ import annotations

from discreet.local.examples._example import Example
from discreet.local.examples._examples import examples

__all__ = ["Example", "examples"]
