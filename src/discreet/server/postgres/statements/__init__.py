"""The statements of a session: what they ask, read from text."""
