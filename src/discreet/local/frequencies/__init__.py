"""Frequencies of known values: oracles and sketches."""
