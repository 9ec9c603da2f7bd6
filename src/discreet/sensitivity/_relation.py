"""The two neighbour relations, checked."""

from __future__ import annotations

from discreet.errors import ParameterError

__all__ = ["adds_or_removes"]


def adds_or_removes(relation: str) -> bool:
    """Whether neighbours differ by a record present or absent, rather than by a record changed."""
    if relation not in ("add_remove", "substitute"):
        raise ParameterError(f"relation must be 'add_remove' or 'substitute', got {relation!r}")
    return relation == "add_remove"
