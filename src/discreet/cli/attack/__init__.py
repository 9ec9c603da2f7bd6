"""`discreet attack`: attacks on tables in files, each with its control."""
