"""DuckDB, the embedded default engine."""

from discreet.engines.duckdb._engine import DuckDB
from discreet.engines.duckdb._schema import Declared, declared_tables

__all__ = ["Declared", "DuckDB", "declared_tables"]
