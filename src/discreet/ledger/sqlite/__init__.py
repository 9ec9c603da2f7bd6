"""A ledger in one SQLite file, or in memory."""
