"""Servers: a collector of local reports, and a desk where a team asks questions over HTTP and the PostgreSQL wire."""
