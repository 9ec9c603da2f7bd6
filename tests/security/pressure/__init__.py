"""A shop with and without one heavy person, queries that multiply rows, and what is seen of them in small memory."""
