"""`discreet demo`."""
