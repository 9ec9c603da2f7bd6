"""The kind of release that a synthetic table is, and files of the kind that is asked for."""

from __future__ import annotations

import os
from typing import TypeVar

from discreet import release
from discreet.errors import LedgerError
from discreet.release import BaseRelease, ReleaseKind, register
from discreet.synth._table import SyntheticTable
from discreet.synth._verify import recompute_table_loss, verify_table_loss

__all__ = ["KIND", "of_kind"]

KIND = register(
    ReleaseKind(
        "synthetic_table", SyntheticTable.from_bytes, SyntheticTable.digests, recompute_table_loss, verify_table_loss
    )
)

_Table = TypeVar("_Table", bound=BaseRelease)
_LOADERS = {
    "SyntheticTable": "one table, by fit: discreet.synth.load reads it",
    "SyntheticTables": "several tables or histories, by fit_tables: discreet.synth.load_tables reads it",
}


def of_kind(wanted: type[_Table], path: str | os.PathLike[str]) -> _Table:
    """The release in a file. Raises `LedgerError` if it is of another kind than is wanted, and says which."""
    loaded = release.load(path)
    if isinstance(loaded, wanted):
        return loaded
    kind = type(loaded).__name__
    raise LedgerError(f"{os.fspath(path)!r} holds {_LOADERS.get(kind, f'no synthetic table, but a {kind}')}")
