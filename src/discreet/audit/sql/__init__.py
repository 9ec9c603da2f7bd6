"""Queries as mechanisms over databases."""
