"""`discreet anonymize` and `discreet risk`: tables outside the ledger."""
