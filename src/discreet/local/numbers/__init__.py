"""Means and distributions of bounded numbers."""
