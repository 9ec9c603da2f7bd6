"""Rows of synthetic tables: drawn, checked against rules, written to files."""
