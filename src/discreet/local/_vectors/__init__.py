"""Vectors in a ball: their mean."""
