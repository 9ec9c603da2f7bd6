"""`discreet audit`."""
