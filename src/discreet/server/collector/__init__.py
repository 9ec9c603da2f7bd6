"""A collector for local differential privacy: batches of reports over HTTP, on disk before they are acknowledged.

`discreet collect serve` runs it; ``docs/collecting.md`` says what it promises.
"""

from discreet.server.collector._http import Limits
from discreet.server.collector._serve import serve
from discreet.server.collector._store import Batch, Outcome, Store, read_store

__all__ = ["Batch", "Limits", "Outcome", "Store", "read_store", "serve"]
