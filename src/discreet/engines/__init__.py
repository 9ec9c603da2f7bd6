"""Engines: where the private tables are, bounded and summed in place."""

from discreet.engines._factories import EngineFactory
from discreet.engines._open import declared_tables, open_engine
from discreet.engines._protocol import Declared, EdgeQueries, Engine

__all__ = ["Declared", "EdgeQueries", "Engine", "EngineFactory", "declared_tables", "open_engine"]
