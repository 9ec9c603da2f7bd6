"""Files of synthetic tables, of one table or of people with all their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.synth import SyntheticTable, SyntheticTables

__all__ = ["model_in", "report_of", "rules_in_words"]


def model_in(path: Path) -> SyntheticTable | SyntheticTables:
    """What a file by `discreet synth fit` holds. Raises `DataError` or `LedgerError` for anything else."""
    from discreet.release import load
    from discreet.synth import SyntheticTable, SyntheticTables

    loaded = load(path)
    if isinstance(loaded, SyntheticTable | SyntheticTables):
        return loaded
    raise LedgerError(f"{path} holds no synthetic table, but a {type(loaded).__name__}")


def report_of(model: SyntheticTable | SyntheticTables) -> dict[str, Any]:
    """The model against what was measured, in plain JSON; of people part by part."""
    from discreet.synth import SyntheticTable

    if isinstance(model, SyntheticTable):
        return model.report().to_dict()
    return {
        "tables": [shape.table for shape in model.shapes],
        "people": model.people,
        "parts": {name: each.to_dict() for name, each in model.report().items()},
    }


def rules_in_words(model: SyntheticTable | SyntheticTables) -> list[str]:
    """What rows keep; of several tables each with the name of its table."""
    from discreet.synth import SyntheticTable

    if isinstance(model, SyntheticTable):
        return list(model.rules.words())
    return [f"{shape.table}: {each}" for shape in model.shapes for each in shape.rules.words()]
