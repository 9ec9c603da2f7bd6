"""Noise added to numbers."""
