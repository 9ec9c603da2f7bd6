"""Answers of a synthetic table, for nothing: SQL with the intervals that its measurements give, and refits."""
