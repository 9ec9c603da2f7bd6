"""Means of vectors in a ball."""
