"""Totals by two servers that do not collude: Prio3 with noise."""
