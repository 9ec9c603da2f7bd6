"""Frequencies of values: the protocols that estimate how often each value of a domain is held."""
