"""Queries with their answers by plain SQL, and databases to ask them of."""
