"""Linear rules between published numbers, of one universe or of several, kept exactly in every area."""

from discreet.census.rules._classes import Classes, RuledTotals
from discreet.census.rules._near import check_rules, class_totals

__all__ = ["Classes", "RuledTotals", "check_rules", "class_totals"]
