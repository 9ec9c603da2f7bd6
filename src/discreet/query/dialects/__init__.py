"""Queries of other systems as the queries that mean the same here."""
