"""Hierarchies of values: taxonomies, intervals and prefixes, made or read from files."""

from __future__ import annotations

from discreet.anonymize.hierarchies._hierarchy import (
    ANY,
    Hierarchy,
    intervals,
    load_hierarchies,
    load_taxonomy,
    prefixes,
    taxonomy,
    text_of,
    two_levels,
)

__all__ = [
    "ANY",
    "Hierarchy",
    "intervals",
    "load_hierarchies",
    "load_taxonomy",
    "prefixes",
    "taxonomy",
    "text_of",
    "two_levels",
]
