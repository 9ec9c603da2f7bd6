"""PostgreSQL 16 or later, over psycopg 3 (extra `postgres`)."""

from discreet.engines.postgres._engine import PostgreSQL
from discreet.engines.postgres._schema import declared_tables

__all__ = ["PostgreSQL", "declared_tables"]
