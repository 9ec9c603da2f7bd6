"""DuckDB, the embedded default engine."""

from discreet.engines.duckdb._engine import DuckDB

__all__ = ["DuckDB"]
