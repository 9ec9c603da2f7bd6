"""The exact loss of a mechanism whose outputs can be enumerated."""
