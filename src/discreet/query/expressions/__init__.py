"""Types, bounds and public values of row-level expressions."""
