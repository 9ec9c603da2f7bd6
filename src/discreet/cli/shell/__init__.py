"""`discreet shell`."""
