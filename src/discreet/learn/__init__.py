"""Private learning: estimators and training whose loss is charged to the ledger before anything is drawn."""
