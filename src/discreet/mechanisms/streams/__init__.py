"""Continual counting: running totals of a stream of increments."""
