"""DuckDB, the embedded default engine."""

from discreet.engines.duckdb._engine import DuckDB
from discreet.engines.duckdb._schema import declared_tables

__all__ = ["DuckDB", "declared_tables"]
