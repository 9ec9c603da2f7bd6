"""Bounds, keys and caps for a policy, bought with a spend."""
