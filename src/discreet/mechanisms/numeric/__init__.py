"""Exact integers and rationals that mechanisms share."""
