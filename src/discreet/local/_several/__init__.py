"""Several attributes of one person: one of them by sampling, tables of them, and numbers by key."""
