"""`discreet graph`: graphs with the privacy of edges."""
