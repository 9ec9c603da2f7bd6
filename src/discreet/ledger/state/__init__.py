"""What a ledger's budgets are after each event."""
