"""`discreet collect`."""
