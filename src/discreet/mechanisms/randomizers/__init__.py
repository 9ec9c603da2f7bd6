"""Randomized reports, and mechanisms on a random sample."""
