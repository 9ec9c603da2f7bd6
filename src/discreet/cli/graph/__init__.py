"""`discreet graph`: graphs with the privacy of edges, or of people."""
