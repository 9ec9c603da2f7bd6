"""`discreet ledger`."""
