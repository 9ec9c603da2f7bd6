"""What is published: areas, tables, shares and rules, all of them public, and the files that list them."""

from discreet.census.specs._geography import Geography, read_public
from discreet.census.specs._spec import Districts, Shares, Spec

__all__ = ["Districts", "Geography", "Shares", "Spec", "read_public"]
