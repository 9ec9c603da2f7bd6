"""`discreet policy`: write one, and see what it allows."""
