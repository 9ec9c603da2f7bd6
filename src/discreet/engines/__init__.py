"""Engines: where the private tables are, bounded and summed in place."""

from discreet.engines._open import open_engine
from discreet.engines._protocol import Engine

__all__ = ["Engine", "open_engine"]
