"""Losses as data: leaves, combinators, how they are written and read."""
