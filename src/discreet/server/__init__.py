"""A collector for local differential privacy: batches of reports over HTTP, on disk before they are acknowledged.

`discreet collect serve` runs it; ``docs/collecting.md`` says what it promises.
"""

from discreet.server._limits import Limits
from discreet.server._reading import read_store
from discreet.server._serve import serve
from discreet.server._store import Batch, Outcome, Store

__all__ = ["Batch", "Limits", "Outcome", "Store", "read_store", "serve"]
