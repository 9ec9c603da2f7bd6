"""One example of each mechanism: the page, the audit, certificates and the tests of security all iterate over them."""

from __future__ import annotations

from discreet.mechanisms.examples._example import Draw, Example, Pair, Scaled, Setting
from discreet.mechanisms.examples._examples import examples

__all__ = ["Draw", "Example", "Pair", "Scaled", "Setting", "examples"]
