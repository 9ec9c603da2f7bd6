"""PostgreSQL 16 or later, over psycopg 3 (extra `postgres`)."""

from discreet.engines.postgres._engine import PostgreSQL

__all__ = ["PostgreSQL"]
