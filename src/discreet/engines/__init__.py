"""Engines: where the private tables are, bounded and summed in place."""

from discreet.engines._factories import EngineFactory
from discreet.engines._open import open_engine
from discreet.engines._protocol import Engine

__all__ = ["Engine", "EngineFactory", "open_engine"]
