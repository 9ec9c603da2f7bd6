"""The append-only hash chain of rows."""
