"""Engines: where the private tables are, bounded and summed in place."""

from discreet.engines._factories import EngineFactory
from discreet.engines._open import declared_tables, open_engine
from discreet.engines._protocol import Declared, Engine

__all__ = ["Declared", "Engine", "EngineFactory", "declared_tables", "open_engine"]
