"""Frequent words that nobody listed."""
