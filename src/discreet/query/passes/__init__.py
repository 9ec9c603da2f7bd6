"""Rewrites of the SELECT, in the order in which the planner runs them."""
