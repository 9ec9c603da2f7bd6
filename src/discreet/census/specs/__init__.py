"""What is published: areas, tables, shares and rules, all of them public, and the files that list them."""

from discreet.census.specs._geography import Geography, read_public
from discreet.census.specs._reading import at_key, below, only_keys, read_geography, read_spec, read_table, required
from discreet.census.specs._rules import Rule, Term
from discreet.census.specs._spec import Districts, Shares, Spec

__all__ = [
    "Districts",
    "Geography",
    "Rule",
    "Shares",
    "Spec",
    "Term",
    "at_key",
    "below",
    "only_keys",
    "read_geography",
    "read_public",
    "read_spec",
    "read_table",
    "required",
]
