"""The functions of row-level expressions: kinds, bounds, nulls and public values."""
